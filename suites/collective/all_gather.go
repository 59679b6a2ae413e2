package collective

import (
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("collective/all-gather", fixtures.Whole, Label("data", "performance"),
	"every rank receives what each one gave, and at a fair part of the links' rate", func(n *fixtures.Node) {
		fixtures.Judge(n.Collective(fixtures.AllGather))
	}, fixtures.Within(time.Minute))
