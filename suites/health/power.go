package health

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("health/power", fixtures.GPUs, Label("gate"),
	"the supply does not slow the GPU down under load", func(g *fixtures.GPU) {
		By("keeping " + g.String() + " busy and reading its power")
		s := g.Strain()
		watts := g.RecordSeries("power under load", "W", s.Series(fixtures.Power))
		if s.PowerLimit > 0 {
			g.Record("power limit", float64(s.PowerLimit), "W")
		}
		if len(watts) == 0 && !s.ReasonsKnown {
			fixtures.Skip("not-supported", "NVML tells neither power nor slowdowns of %s", g)
		}
		// A software power cap is how a GPU keeps its limit, on every healthy one.
		if message := judgeSlowdowns(s.Slowdowns(), func(r fixtures.Slowdown) bool { return r.Supply }); message != "" {
			fixtures.FailWithHint("throttled", slowdownHint(s.Slowdowns()), "%s under load: %s", g, message)
		}
	})
