package dereference

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("dereference/read", fixtures.OrderedPairs, Label("data", "gate"),
	"a remote load returns what the owner wrote", func(p *fixtures.Pair) {
		p.EnableAccess()
		By(p.From.String() + " loads from " + p.To.String() + "'s memory")
		Expect(p.Load(0x4ead)).To(fixtures.HoldPattern(0x4ead))
	}, fixtures.WithAccess)
