package transfer

import (
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("transfer/all-pairs", fixtures.Whole, Label("data"),
	"copies between all disjoint pairs at once are right, each ordered pair in its turn", func(n *fixtures.Node) {
		fixtures.Judge(n.AllPairs())
	}, fixtures.BetweenTwo, fixtures.Within(2*time.Minute))
