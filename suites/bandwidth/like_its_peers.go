package bandwidth

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("bandwidth/like-its-peers", fixtures.OrderedPairs, Label("performance"),
	"a pair is as fast as the others of its path class in this node", func(p *fixtures.Pair) {
		var worst fixtures.Comparison
		for _, check := range []string{"bandwidth/read-ce", "bandwidth/write-ce"} {
			class, name := p.ClassFigures(check), p.Path().Class
			c := fixtures.CompareWithClass(check, p.Judged(check), class, name, p.Profile().ClassTolerance(name, len(class)))
			if c.Difference >= worst.Difference {
				worst = c
			}
		}
		p.Record("below its class's median", 100*worst.Difference, "%")
		fixtures.Judge(worst.Outcome)
	}, fixtures.WithAccess, fixtures.BetweenTwo, fixtures.From("bandwidth/read-ce", "bandwidth/write-ce"))
