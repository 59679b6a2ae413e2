package access

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("access/capability", fixtures.OrderedPairs, Label("gate"),
	"peer access is possible", func(p *fixtures.Pair) {
		fixtures.Judge(p.Capability())
	}, fixtures.BetweenTwo)
