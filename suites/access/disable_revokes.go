package access

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("access/disable-revokes", fixtures.OrderedPairs, Label("data"),
	"once access is disabled again, a load faults", func(p *fixtures.Pair) {
		By(p.From.String() + " loads from " + p.To.String() + " with access")
		p.EnableAccess()
		p.Must(p.Touch())
		By(p.From.String() + " loads from " + p.To.String() + " after its access was disabled")
		p.Must(p.TryDisable())
		fixtures.Judge(p.Refuses("its access was disabled"))
	}, fixtures.WithAccess, fixtures.BetweenTwo, fixtures.Isolated)
