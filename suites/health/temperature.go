package health

import (
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("health/temperature", fixtures.GPUs, Label("gate"),
	"heat does not slow the GPU down under load", func(g *fixtures.GPU) {
		By("keeping " + g.String() + " busy and reading its temperature")
		s := g.Strain()
		degrees := g.RecordSeries("temperature under load", "°C", s.Series(fixtures.Temperature))
		if len(degrees) == 0 {
			fixtures.Skip("not-supported", "NVML does not tell the temperature of %s", g)
		}
		most, said := g.Profile().Hottest()
		if !said {
			most = 0
		}
		if message := judgeHeat(slices.Max(degrees), s.SlowdownAt, most, s.Slowdowns()); message != "" {
			fixtures.FailWithHint("throttled", "check fans, airflow, heat sink and inlet temperature, and compare with the other GPUs of the node", "%s: %s", g, message)
		}
	})

// judgeHeat takes the highest temperature, that at which the hardware slows
// down and the profile's limit (0: unknown), and the slowdowns that were seen.
func judgeHeat(hottest float64, slowdownAt, most int, seen []fixtures.Slowdown) string {
	if message := judgeSlowdowns(seen, func(r fixtures.Slowdown) bool { return r.Heat }); message != "" {
		return fmt.Sprintf("%s, at up to %.0f °C", message, hottest)
	}
	switch {
	case slowdownAt > 0 && hottest >= float64(slowdownAt):
		return fmt.Sprintf("%.0f °C under load, where the hardware slows down at %d °C", hottest, slowdownAt)
	case most > 0 && hottest > float64(most):
		return fmt.Sprintf("%.0f °C under load, the profile allows %d °C", hottest, most)
	}
	return ""
}
