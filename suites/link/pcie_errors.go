package link

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("link/pcie-errors", fixtures.GPUs, Label("gate", "health"),
	"the PCIe link had no uncorrectable error during the run", func(g *fixtures.GPU) {
		rises := g.Rises()
		if len(rises.PCIe) == 0 {
			fixtures.Skip("not-supported", "neither NVML nor the kernel counts errors of the PCIe link of %s", g)
		}
		for _, r := range rises.PCIe {
			g.Record("PCIe "+r.Name+" during the run", float64(r.By), "errors")
		}
		perMinute, said := g.Profile().PCIeCorrectable()
		if message := judgePCIe(rises, perMinute, said); message != "" {
			fixtures.FailWithHint("link-errors", "see the kernel log for AER lines of "+g.BusID+" and of the port above; reseat the GPU, then its riser or cable, and run again",
				"%s: %s", g, message)
		}
	}, fixtures.Needs(fixtures.NVML), fixtures.AtTheEnd)

// judgePCIe says which counters of uncorrectable errors rose, and which of
// correctable ones rose faster than the profile allows.
func judgePCIe(rises fixtures.Rises, perMinute float64, said bool) string {
	var wrong []string
	for _, r := range rises.PCIe {
		switch {
		case r.By == 0:
		case r.Serious:
			wrong = append(wrong, fmt.Sprintf("PCIe %s: %d during the run", r.Name, r.By))
		case said && rises.PerMinute(r.By) > perMinute:
			wrong = append(wrong, fmt.Sprintf("PCIe %s: %d during the run, %.1f a minute where the profile allows %.1f", r.Name, r.By, rises.PerMinute(r.By), perMinute))
		}
	}
	return strings.Join(wrong, "; ")
}
