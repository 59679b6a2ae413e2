package link

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("link/nvlink-active", fixtures.GPUs, Label("gate"),
	"as many NVLinks are active as the profile, else the product, has", func(g *fixtures.GPU) {
		g.Known("nvmlDeviceGetNvLinkState")
		expected, basis := g.Profile().ExpectedLinks(g.Node(), g.Slot)
		byProfile := basis == "profile"
		if !g.NVLinkSupported && !byProfile {
			if g.Node().Host.Virtualised && expected > 0 {
				fixtures.Skip("virtualised", "NVML knows no NVLink of a GPU passed through to a virtual machine")
			}
			fixtures.Skip("no-nvlink", "%s has no NVLink", g)
		}
		if expected == 0 && !byProfile {
			fixtures.Skip("no-nvlink", "no NVLink of %s is connected, and neither profile nor product says that one should be", g)
		}
		var active, down []string
		for _, l := range g.NVLinks {
			if l.Active {
				active = append(active, fmt.Sprint(l.Link))
			} else {
				down = append(down, fmt.Sprint(l.Link))
			}
		}
		g.Record("active NVLinks", float64(len(active)), "links")
		if len(active) < expected {
			which := ""
			if len(down) > 0 {
				which = "; down: " + strings.Join(down, ", ")
			}
			fixtures.FailWithHint("links-down", downHint(len(active)), "%d of %d NVLinks of %s are active (%s)%s",
				len(active), expected, g, basis, which)
		}
	}, fixtures.Needs(fixtures.NVML))

func downHint(active int) string {
	if active == 0 {
		return "no link is up: the board is not seated, or its NVSwitches or bridge are not powered or not there; the traffic goes over PCIe meanwhile"
	}
	return "see the kernel log for NVLink lines (Xid 74, 144 to 150) of these links; reseat the GPU board or bridge and retest; what stays down is the GPU's or the switch's port"
}
