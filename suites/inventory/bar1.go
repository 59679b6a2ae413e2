package inventory

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("inventory/bar1", fixtures.GPUs, Label("gate"),
	"BAR1 covers the memory of a GPU that has peers over PCIe", func(g *fixtures.GPU) {
		if len(g.PCIePeers()) == 0 {
			fixtures.Skip("no-subjects", "no other GPU is a peer of %s over PCIe", g)
		}
		g.Known("nvmlDeviceGetBAR1MemoryInfo", "nvmlDeviceGetMemoryInfo")
		if g.BAR1Bytes == 0 || g.MemoryBytes == 0 {
			fixtures.Error("nvml-error", "NVML does not tell the size of BAR1 or memory of %s", g)
		}
		g.Record("BAR1", float64(g.BAR1Bytes)/(1<<20), "MiB")
		if g.BAR1Bytes < g.MemoryBytes {
			fixtures.FailWithHint("small-bar1", "turn on Resizable BAR and decoding above 4 GiB in the BIOS; on a board with display outputs NVIDIA's displaymodeselector switches to the large BAR",
				"BAR1 of %s has %d MiB, its memory %d MiB: peers over PCIe reach only a part of it", g, g.BAR1Bytes>>20, g.MemoryBytes>>20)
		}
	}, fixtures.Needs(fixtures.NVML))
