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
			hint := "see the kernel log for Xid lines of this GPU and whether MIG forbids a context"
			if mode := g.Modes.Compute; mode != "" && mode != "default" {
				hint = "its compute mode is " + mode + ": set it with nvidia-smi -i " + g.BusID + " -c DEFAULT"
				if mode == "exclusive-process" {
					hint += ", or see which process is on it (inventory/busy)"
				}
			}
			fixtures.FailWithHint("context-failed", hint, "no context on %s: %v", g, err)
		}
	}, fixtures.Proving(fixtures.CUDA))
