package access

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("access/enable-twice", fixtures.OrderedPairs, Label(),
	"enabling twice is refused as such, and hurts neither the pair nor the next call", func(p *fixtures.Pair) {
		By("enabling " + p.String() + " twice")
		Expect(p.EnableAgain()).To(fixtures.Answer(704)) // CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
		By(p.From.String() + " still loads from " + p.To.String())
		Expect(p.Touch()).To(fixtures.Answer(0))
	}, fixtures.WithAccess, fixtures.BetweenTwo)
