package transfer

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("transfer/copy-graph", fixtures.OrderedPairs, Label("data"),
	"a copy captured in a graph is right, whenever the graph is launched", func(p *fixtures.Pair) {
		p.CopyGraph(0x64a9, func(sink *fixtures.Buffer) {
			Expect(sink).To(fixtures.HoldPattern(0x64a9))
		})
	}, fixtures.WithAccess)
