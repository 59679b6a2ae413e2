package latency

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("latency/chase", fixtures.OrderedPairs, Label("performance"),
	"dependent loads from a peer's memory arrive where they should; the time of each is recorded", func(p *fixtures.Pair) {
		fixtures.Judge(p.Chase())
	}, fixtures.WithAccess)
