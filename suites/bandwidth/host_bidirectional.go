package bandwidth

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("bandwidth/host-bidirectional", fixtures.GPUs, Label("performance"),
	"copies from and to pinned host memory at once reach the floor of twice the PCIe link", func(g *fixtures.GPU) {
		g.HostBidirectional()
	})
