package bandwidth

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("bandwidth/bidirectional-ce", fixtures.Pairs, Label("performance"),
	"copy engines in both directions at once reach the floor of twice one way", func(p *fixtures.Pair) {
		p.Bidirectional(false)
	}, fixtures.WithAccess)
