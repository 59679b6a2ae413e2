package ordering

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("ordering/flag-pingpong", fixtures.Pairs, Label("data"),
	"resident kernels see each other's flags within a bound", func(p *fixtures.Pair) {
		fixtures.Judge(p.PingPong())
	}, fixtures.WithAccess)
