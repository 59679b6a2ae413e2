package bandwidth

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("bandwidth/device-to-host", fixtures.GPUs, Label("performance"),
	"copies to pinned host memory reach the floor of the PCIe link", func(g *fixtures.GPU) {
		g.DeviceToHost()
	})
