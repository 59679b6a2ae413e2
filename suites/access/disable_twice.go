package access

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("access/disable-twice", fixtures.OrderedPairs, Label(),
	"disabling what is not enabled is refused as such", func(p *fixtures.Pair) {
		By("disabling " + p.String() + " twice")
		Expect(p.DisableAgain()).To(fixtures.Answer(705)) // CUDA_ERROR_PEER_ACCESS_NOT_ENABLED
	}, fixtures.BetweenTwo)
