package dereference

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("dereference/ipc", fixtures.OrderedPairs, Label("data"),
	"memory of another process is read and written like any other", func(p *fixtures.Pair) {
		memory := p.IPC()
		By(p.From.String() + " loads from " + p.To.String() + "'s memory")
		Expect(memory.Load(0x4ead)).To(fixtures.HoldPattern(0x4ead))
		By(p.From.String() + " stores to " + p.To.String() + "'s memory")
		Expect(memory.Store(0x3417e)).To(fixtures.HoldWrittenPattern(0x3417e))
	}, fixtures.WithAccess)
