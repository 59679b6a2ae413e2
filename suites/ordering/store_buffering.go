package ordering

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("ordering/store-buffering", fixtures.Pairs, Label("data"),
	"of two GPUs that store and then look, one at least sees the other's store", func(p *fixtures.Pair) {
		fixtures.Judge(p.StoreBuffering())
	}, fixtures.WithAccess)
