package collective

import (
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("collective/p2p-speedup", fixtures.Whole, Label("performance"),
	"an all-reduce is faster with P2P than with P2P disabled", func(n *fixtures.Node) {
		fixtures.Judge(n.P2PSpeedup())
	}, fixtures.BetweenTwo, fixtures.Within(2*time.Minute))
