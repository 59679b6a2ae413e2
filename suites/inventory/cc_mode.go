package inventory

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("inventory/cc-mode", fixtures.GPUs, Label(),
	"confidential computing is on or off as the profile says", func(g *fixtures.GPU) {
		asProfiled(g, setting{
			what: "confidential computing", want: g.Profile().ExpectedModes().Confidential, got: orOff(g.Modes.Confidential), code: "cc-mode",
			hint:      "with it copies are encrypted and peers may be refused; it is set by the BMC or NVIDIA's gpu-admin-tools, and takes effect with a reset of the GPU",
			functions: []string{"nvmlSystemGetConfComputeState", "nvmlDeviceGetConfComputeMemSizeInfo"},
		})
	}, fixtures.Needs(fixtures.NVML))
