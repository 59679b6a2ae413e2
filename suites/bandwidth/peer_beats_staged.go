package bandwidth

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("bandwidth/peer-beats-staged", fixtures.OrderedPairs, Label("performance"),
	"a direct copy is faster than one through the host", func(p *fixtures.Pair) {
		fixtures.Judge(p.BeatsStaged())
	}, fixtures.WithAccess, fixtures.BetweenTwo, fixtures.From("bandwidth/write-ce", "transfer/staged"))
