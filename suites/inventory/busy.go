package inventory

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("inventory/busy", fixtures.GPUs, Label("gate"),
	"no other process computes on the GPU", func(g *fixtures.GPU) {
		g.Known("nvmlDeviceGetComputeRunningProcesses")
		if len(g.Processes) > 0 {
			fixtures.Error("gpu-busy", "process %v computes on %s: its figures of this run are not to be trusted", g.Processes, g)
		}
	}, fixtures.Needs(fixtures.NVML))
