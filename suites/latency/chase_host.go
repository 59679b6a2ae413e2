package latency

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("latency/chase-host", fixtures.GPUs, Label("performance"),
	"dependent loads from pinned host memory arrive where they should; the time of each is recorded", func(g *fixtures.GPU) {
		fixtures.Judge(g.ChaseHost())
	})
