package collective

import (
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("collective/all-reduce", fixtures.Whole, Label("data", "performance"),
	"every rank receives the exact sum of all, and at a fair part of the links' rate", func(n *fixtures.Node) {
		fixtures.Judge(n.Collective(fixtures.AllReduce))
	}, fixtures.Within(time.Minute))
