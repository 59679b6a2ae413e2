package access

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("access/one-way-is-one-way", fixtures.OrderedPairs, Label("data"),
	"with the other direction alone enabled, a load faults", func(p *fixtures.Pair) {
		back := p.Reverse()
		By("enabling " + back.String() + " alone")
		back.EnableAccess()
		By(p.From.String() + " loads from " + p.To.String() + " without access")
		fixtures.Judge(p.Refuses("only " + back.String() + " is enabled"))
	}, fixtures.WithAccess, fixtures.BetweenTwo, fixtures.Isolated)
