package dereference

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("dereference/write", fixtures.OrderedPairs, Label("data", "gate"),
	"the owner sees what a remote store wrote", func(p *fixtures.Pair) {
		p.EnableAccess()
		By(p.From.String() + " stores to " + p.To.String() + "'s memory")
		Expect(p.Store(0x3417e)).To(fixtures.HoldWrittenPattern(0x3417e))
	}, fixtures.WithAccess)
