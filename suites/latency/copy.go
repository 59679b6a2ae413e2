package latency

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("latency/copy", fixtures.OrderedPairs, Label("performance"),
	"copies of 16 bytes are right; the time of each is recorded", func(p *fixtures.Pair) {
		fixtures.Judge(p.CopyLatency())
	}, fixtures.WithAccess)
