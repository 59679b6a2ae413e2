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
		err := p.Touch()
		switch {
		case err == nil:
			fixtures.Fail("leaky-access", "%s loaded from %s's memory, though only %s is enabled", p.From, p.To, back)
		case !fixtures.Faulted(err):
			p.Must(err)
		}
	}, fixtures.WithAccess, fixtures.BetweenTwo, fixtures.Isolated)
