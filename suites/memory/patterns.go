package memory

import (
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

// bound is far more than the slowest GPU takes: a pattern is written and read
// once, so 300 GB at 300 GB/s take 12 s for six patterns.
const bound = 3 * time.Minute

var _ = fixtures.Specify("memory/patterns", fixtures.GPUs, Label("data"),
	"nearly all free memory holds every test pattern", func(g *fixtures.GPU) {
		fixtures.Judge(g.TestMemory(0x7e57))
	}, fixtures.Within(bound))
