package link

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("link/pcie-loaded", fixtures.GPUs, Label("gate"),
	"under load the PCIe link has the generation and width that slot and GPU both can", func(g *fixtures.GPU) {
		g.Known("nvmlDeviceGetGpuMaxPcieLinkGeneration", "nvmlDeviceGetMaxPcieLinkWidth")
		wantGen, wantWidth := g.PCIe.Max()
		if wantGen == 0 || wantWidth == 0 {
			fixtures.Error("nvml-error", "neither NVML nor sysfs says what the PCIe link of %s can do", g)
		}
		var gen, width int
		By("sampling the link of " + g.String() + " under copies from the host")
		g.UnderLoad(func() { gen, width = g.PCIeLink() })
		// What slot and GPU can do is the floor, so that a report shows the figure that misses it.
		g.RecordFloor("PCIe generation, loaded", float64(gen), "gen", float64(wantGen))
		g.RecordFloor("PCIe width, loaded", float64(width), "lanes", float64(wantWidth))
		if gen < wantGen || width < wantWidth {
			fixtures.FailWithHint("pcie-downgraded", "reseat the GPU or its riser or cable and retest; if it stays, move the GPU to another slot to tell the slot from the GPU",
				"the PCIe link of %s runs at gen%d x%d under load; slot and GPU can do gen%d x%d", g, gen, width, wantGen, wantWidth)
		}
	})
