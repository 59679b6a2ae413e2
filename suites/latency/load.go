package latency

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("latency/load", fixtures.OrderedPairs, Label("performance"),
	"a load takes no longer than those of the same class in this node", func(p *fixtures.Pair) {
		fixtures.Judge(p.LoadLatency())
	}, fixtures.WithAccess, fixtures.From("latency/chase"))
