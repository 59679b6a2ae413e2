package transfer

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("transfer/first", fixtures.OrderedPairs, Label("data"),
	"the very first copy between the two is right", func(p *fixtures.Pair) {
		By("copying from " + p.From.String() + " to " + p.To.String() + " for the first time")
		Expect(p.Transfer(0xf1457)).To(fixtures.HoldPattern(0xf1457))
	})
