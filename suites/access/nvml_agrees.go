package access

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("access/nvml-agrees", fixtures.OrderedPairs, Label(),
	"NVML's P2P status says what CUDA does", func(p *fixtures.Pair) {
		fixtures.Judge(p.SourcesAgree())
	}, fixtures.BetweenTwo)
