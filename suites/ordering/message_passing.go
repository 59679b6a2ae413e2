package ordering

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("ordering/message-passing", fixtures.OrderedPairs, Label("data"),
	"who sees a flag sees the data that was stored before it", func(p *fixtures.Pair) {
		fixtures.Judge(p.MessagePassing())
	}, fixtures.WithAccess)
