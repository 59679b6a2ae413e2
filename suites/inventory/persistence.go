package inventory

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("inventory/persistence", fixtures.GPUs, Label(),
	"persistence mode is what the profile says", func(g *fixtures.GPU) {
		asProfiled(g, setting{
			what: "persistence mode", want: g.Profile().ExpectedModes().Persistence, got: g.Modes.Persistence, code: "persistence-off",
			hint:      "without it the driver forgets the GPU's settings and starts it anew for every process: enable nvidia-persistenced",
			functions: []string{"nvmlDeviceGetPersistenceMode"},
		})
	}, fixtures.Needs(fixtures.NVML))
