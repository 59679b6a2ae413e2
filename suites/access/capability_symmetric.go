package access

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("access/capability-symmetric", fixtures.Pairs, Label("gate"),
	"cuDeviceCanAccessPeer says the same in both directions", func(p *fixtures.Pair) {
		there, back := p.CanAccess(), p.Reverse().CanAccess()
		if there != back {
			fixtures.Fail("one-way-access", "CUDA grants access %s: %t, %s: %t", p, there, p.Reverse(), back)
		}
	}, fixtures.BetweenTwo)
