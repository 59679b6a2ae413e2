package latency

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("latency/load-host", fixtures.GPUs, Label("performance"),
	"a load from the host takes no longer than those of the other GPUs", func(g *fixtures.GPU) {
		fixtures.Judge(g.HostLoadLatency())
	}, fixtures.From("latency/chase-host"))
