package ordering

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("ordering/load-buffering", fixtures.Pairs, Label("data"),
	"no GPU sees what the other stores after it", func(p *fixtures.Pair) {
		fixtures.Judge(p.LoadBuffering())
	}, fixtures.WithAccess)
