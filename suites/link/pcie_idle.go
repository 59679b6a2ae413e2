package link

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("link/pcie-idle", fixtures.GPUs, Label(),
	"the PCIe link as it is before any load, recorded", func(g *fixtures.GPU) {
		g.Known("nvmlDeviceGetCurrPcieLinkGeneration", "nvmlDeviceGetCurrPcieLinkWidth")
		g.Record("PCIe generation, idle", float64(g.PCIe.Gen), "gen")
		g.Record("PCIe width, idle", float64(g.PCIe.Width), "lanes")
	}, fixtures.Needs(fixtures.NVML))
