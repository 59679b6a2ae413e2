package inventory

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("inventory/compute-mode", fixtures.GPUs, Label("gate"),
	"the compute mode is what the profile says", func(g *fixtures.GPU) {
		want := g.Profile().ExpectedModes().Compute
		asProfiled(g, setting{
			what: "the compute mode", want: want, got: g.Modes.Compute, code: "exclusive-mode",
			hint:      "in another mode than default only one process, or none, gets a context: nvidia-smi -i " + g.BusID + " -c " + want,
			functions: []string{"nvmlDeviceGetComputeMode"},
		})
	}, fixtures.Needs(fixtures.NVML))
