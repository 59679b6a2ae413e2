package health

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

// soakMargin is how much longer than the profile says a soak may take.
const soakMargin = time.Minute

var _ = fixtures.Specify("health/soak", fixtures.GPUs, Label("slow", "data"),
	"arithmetic, copies and memory stay right, at full clocks, for as long as the profile says", func(g *fixtures.GPU) {
		s := g.Soak(g.Profile().Soak())
		g.Record("rounds", float64(s.Rounds), "rounds")
		degrees := g.RecordSeries("temperature", "°C", s.Series(fixtures.Temperature))
		g.RecordSeries("power", "W", s.Series(fixtures.Power))
		g.RecordSeries("SM clock", "MHz", s.Series(fixtures.Clock))
		for _, p := range s.Products {
			g.Record(p.Kind, p.TFLOPS(), "TFLOPS")
		}
		for _, r := range s.Rises.PCIe {
			g.Record("PCIe "+r.Name, float64(r.By), "errors")
		}
		for _, r := range s.ECC {
			g.Record("ECC "+r.Name, float64(r.By), "errors")
		}
		fixtures.Judge(s.Memory)
		if message := judgeMemoryErrors(s.ECC); message != "" {
			fixtures.FailWithHint(fixtures.BitErrors, "see memory/ecc and memory/remapped-rows", "%s: %s", g, message)
		}
		if message := judgeProducts(s.Products); message != "" {
			fixtures.FailWithHint("wrong-result", wrongResultHint, "%s: %s", g, message)
		}
		most, _ := g.Profile().Hottest()
		hottest := 0.0
		for _, d := range degrees {
			hottest = max(hottest, d)
		}
		for _, message := range []string{
			judgeSlowdowns(s.Slowdowns(), func(r fixtures.Slowdown) bool { return r.Hardware }),
			judgeHeat(hottest, s.SlowdownAt, most, s.Slowdowns()),
		} {
			if message != "" {
				fixtures.FailWithHint("throttled", slowdownHint(s.Slowdowns()), "%s: %s", g, message)
			}
		}
	}, fixtures.Within(soakMargin), fixtures.Lasting((*fixtures.Profile).Soak))

// judgeMemoryErrors says whether ECC met what it cannot correct.
func judgeMemoryErrors(all []fixtures.Rise) string {
	for _, r := range all {
		if r.Serious && r.By > 0 {
			return fmt.Sprintf("%d memory errors during the soak that ECC could not correct", r.By)
		}
	}
	return ""
}
