package access

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("access/bad-flags", fixtures.OrderedPairs, Label(),
	"enabling with a flag that is not defined is refused as such", func(p *fixtures.Pair) {
		By("enabling " + p.String() + " with flag 1")
		Expect(p.EnableWithFlags(1)).To(fixtures.Answer(1)) // CUDA_ERROR_INVALID_VALUE
	}, fixtures.BetweenTwo)
