package access

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("access/enable-both-ways", fixtures.Pairs, Label("gate", "data"),
	"each direction works after its own enable, shown with data", func(p *fixtures.Pair) {
		for _, way := range []*fixtures.Pair{p, p.Reverse()} {
			By("enabling " + way.String())
			if err := way.TryEnable(); err != nil {
				fixtures.Fail("enable-failed", "%s could not enable access to %s: %v", way.From, way.To, err)
			}
			By(way.From.String() + " loads from " + way.To.String())
			sink, err := way.TryLoad(0xb07)
			if fixtures.Faulted(err) {
				fixtures.Fail("not-bidirectional", "access %s was enabled, and a load over it faults: %v", way, err)
			}
			way.Must(err)
			Expect(sink).To(fixtures.HoldPattern(0xb07))
		}
	}, fixtures.WithAccess)
