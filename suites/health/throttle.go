package health

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("health/throttle", fixtures.GPUs, Label("gate"),
	"the hardware does not slow down under load", func(g *fixtures.GPU) {
		By("keeping " + g.String() + " busy and asking why its clocks are lowered")
		s := g.Strain()
		if !s.ReasonsKnown {
			fixtures.Skip("not-supported", "NVML does not tell why clocks of %s are lowered", g)
		}
		g.RecordSeries("SM clock under load", "MHz", s.Series(fixtures.Clock))
		for _, r := range s.Slowdowns() {
			g.Record("share of samples with "+r.Name, 100*r.Share, "%")
		}
		if message := judgeSlowdowns(s.Slowdowns(), func(r fixtures.Slowdown) bool { return r.Hardware }); message != "" {
			fixtures.FailWithHint("throttled", slowdownHint(s.Slowdowns()), "%s under load: %s", g, message)
		}
	})

// judgeSlowdowns names the slowdowns that count.
func judgeSlowdowns(all []fixtures.Slowdown, counts func(fixtures.Slowdown) bool) string {
	var wrong []string
	for _, r := range all {
		if counts(r) {
			wrong = append(wrong, fmt.Sprintf("%s in %.0f %% of the samples", r.Name, 100*r.Share))
		}
	}
	return strings.Join(wrong, ", ")
}

// slowdownHint names the cause that the reasons show.
func slowdownHint(all []fixtures.Slowdown) string {
	heat, supply := false, false
	for _, r := range all {
		heat, supply = heat || r.Heat, supply || r.Supply
	}
	switch {
	case supply:
		return "the server's supply asked the GPU to slow down: check power cables, supplies and the chassis's power cap"
	case heat:
		return "the GPU is too hot: check fans, airflow, heat sink and inlet temperature, then see health/temperature"
	}
	return "the hardware protects itself from heat or from its supply, and does not say which: see health/temperature, power cables and supplies"
}
