package bandwidth

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("bandwidth/symmetric", fixtures.Pairs, Label("performance"),
	"the two directions of a pair are equally fast", func(p *fixtures.Pair) {
		back, tolerance := p.Reverse(), p.Profile().SymmetryTolerance()
		var worst fixtures.Comparison
		for _, check := range []string{"bandwidth/read-ce", "bandwidth/write-ce"} {
			c := fixtures.CompareDirections(check, p.String(), p.Judged(check), back.String(), back.Judged(check), tolerance)
			if c.Difference >= worst.Difference {
				worst = c
			}
		}
		p.Record("difference of the directions", 100*worst.Difference, "%")
		fixtures.Judge(worst.Outcome)
	}, fixtures.WithAccess, fixtures.BetweenTwo, fixtures.From("bandwidth/read-ce", "bandwidth/write-ce"))
