package inventory

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("inventory/mig-off", fixtures.GPUs, Label("gate"),
	"MIG is on or off as the profile says", func(g *fixtures.GPU) {
		mode := "off"
		if g.MIG {
			mode = "on"
		}
		asProfiled(g, setting{
			what: "MIG", want: g.Profile().ExpectedModes().MIG, got: mode, code: "mig-enabled",
			hint:      "a GPU with MIG has no peers: nvidia-smi -i " + g.BusID + " -mig 0, then reset it",
			functions: []string{"nvmlDeviceGetMigMode"},
		})
	}, fixtures.Needs(fixtures.NVML))
