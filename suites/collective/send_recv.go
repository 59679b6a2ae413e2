package collective

import (
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("collective/send-recv", fixtures.Whole, Label("data", "performance"),
	"every rank receives what another sends, from each in turn, and at a fair part of the links' rate", func(n *fixtures.Node) {
		fixtures.Judge(n.Collective(fixtures.SendRecv))
	}, fixtures.Within(time.Minute))
