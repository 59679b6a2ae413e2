package dereference

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("dereference/atomics", fixtures.OrderedPairs, Label("data"),
	"no addition is lost where both GPUs add to one counter", func(p *fixtures.Pair) {
		fixtures.Judge(p.Atomics())
	}, fixtures.WithAccess)
