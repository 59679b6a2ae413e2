package transfer

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("transfer/copy-bidirectional", fixtures.Pairs, Label("data"),
	"copies in both directions at once are right", func(p *fixtures.Pair) {
		fixtures.Judge(p.CopyBothWays())
	})
