package health

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("health/recovery-action", fixtures.GPUs, Label("gate"),
	"the driver asks for no recovery of the GPU", func(g *fixtures.GPU) {
		action, known := g.RecoveryAction()
		if !known {
			fixtures.Skip("driver-too-old", "this driver does not tell a recovery action of %s", g)
		}
		if action != fixtures.NoRecovery {
			fixtures.FailWithHint("recovery-pending", "do what it asks for, then run again; the kernel log has the Xid that it follows from",
				"the driver asks to %s: %s", action, g)
		}
	}, fixtures.Needs(fixtures.NVML))
