package collective

import (
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("collective/reduce-scatter", fixtures.Whole, Label("data", "performance"),
	"every rank receives its part of the exact sum, and at a fair part of the links' rate", func(n *fixtures.Node) {
		fixtures.Judge(n.Collective(fixtures.ReduceScatter))
	}, fixtures.Within(time.Minute))
