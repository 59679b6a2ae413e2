package bandwidth

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("bandwidth/local", fixtures.GPUs, Label("performance"),
	"copies within the GPU's memory reach the floor of its theory", func(g *fixtures.GPU) {
		g.LocalCopy()
	})
