package bandwidth

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("bandwidth/size-curve", fixtures.OrderedPairs, Label("performance", "slow"),
	"bandwidth of copies from 4 KiB to 1 GiB, recorded", func(p *fixtures.Pair) {
		fixtures.Judge(p.SizeCurve())
	}, fixtures.WithAccess)
