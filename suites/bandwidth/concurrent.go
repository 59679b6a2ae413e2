package bandwidth

import (
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("bandwidth/concurrent", fixtures.Whole, Label("performance"),
	"pairs that share no link are as fast at once as alone", func(n *fixtures.Node) {
		fixtures.Judge(n.Concurrent())
	}, fixtures.BetweenTwo, fixtures.Within(2*time.Minute))
