package inventory

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("inventory/context", fixtures.GPUs, Label("gate"),
	"a context can be made", func(g *fixtures.GPU) {
		By("making a context on " + g.String())
		if err := g.Open(); err != nil {
			if g.IsLost() {
				fixtures.Error("gpu-lost", "%s is lost: %v", g, err)
			}
			fixtures.FailWithHint("context-failed", "see the kernel log for Xid lines of this GPU and whether its compute mode or MIG forbids a context",
				"no context on %s: %v", g, err)
		}
	}, fixtures.Proving(fixtures.CUDA))
