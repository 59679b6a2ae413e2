package latency

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("latency/flag", fixtures.Pairs, Label("performance"),
	"the round trip of a flag between resident kernels, recorded", func(p *fixtures.Pair) {
		fixtures.Judge(p.FlagLatency())
	}, fixtures.WithAccess)
