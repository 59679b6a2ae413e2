package link

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("link/nvlink-errors", fixtures.GPUs, Label("gate", "health"),
	"no NVLink replayed or recovered during the run", func(g *fixtures.GPU) {
		if !g.NVLinkSupported {
			if g.Node().Host.Virtualised {
				fixtures.Skip("virtualised", "NVML knows no NVLink of a GPU passed through to a virtual machine")
			}
			g.Known("nvmlDeviceGetNvLinkState")
			fixtures.Skip("no-nvlink", "%s has no NVLink", g)
		}
		rises := g.Rises()
		if len(rises.Links) == 0 {
			fixtures.Skip("no-nvlink", "NVML counts no errors of an active NVLink of %s", g)
		}
		var corrected uint64
		for _, link := range rises.Links {
			for _, r := range link {
				if !r.Serious {
					corrected += r.By
				}
			}
		}
		g.Record("corrected NVLink errors during the run", float64(corrected), "errors")
		perMinute, said := g.Profile().NVLinkCorrectable()
		if message := judgeLinks(rises, perMinute, said); message != "" {
			fixtures.FailWithHint("link-errors", "reseat the board or bridge and run again; an error that stays with the GPU when it is moved is the GPU's, one that stays with the place is the switch's or the board's",
				"%s: %s", g, message)
		}
	}, fixtures.Needs(fixtures.NVML), fixtures.AtTheEnd)

// judgeLinks says which links lost data for a moment, or had more corrected
// errors a minute than the profile allows.
func judgeLinks(rises fixtures.Rises, perMinute float64, said bool) string {
	var wrong []string
	for _, link := range slices.Sorted(maps.Keys(rises.Links)) {
		for _, r := range rises.Links[link] {
			switch {
			case r.By == 0:
			case r.Serious:
				wrong = append(wrong, fmt.Sprintf("%s of NVLink %d: %d during the run", r.Name, link, r.By))
			case said && rises.PerMinute(r.By) > perMinute:
				wrong = append(wrong, fmt.Sprintf("%s of NVLink %d: %d during the run, %.1f a minute where the profile allows %.1f", r.Name, link, r.By, rises.PerMinute(r.By), perMinute))
			}
		}
	}
	return strings.Join(wrong, "; ")
}
