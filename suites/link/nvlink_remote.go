package link

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("link/nvlink-remote", fixtures.GPUs, Label("gate"),
	"every active NVLink ends at a switch, where the node has switches", func(g *fixtures.GPU) {
		g.Known("nvmlDeviceGetNvLinkState", "nvmlDeviceGetNvLinkRemoteDeviceType", "nvmlDeviceGetNvLinkRemotePciInfo_v2")
		switch {
		case !g.NVLinkSupported:
			fixtures.Skip("no-nvlink", "%s has no NVLink, or NVML knows none of it", g)
		case !g.Node().Switched():
			fixtures.Skip("not-switched", "the NVLinks of this node go from GPU to GPU: see link/nvlink-peer")
		}
		told, wrong := judgeRemote(g.Facts(), g.Node().GPUs)
		if !told {
			fixtures.Skip("driver-too-old", "this driver does not tell where NVLinks of %s end", g)
		}
		if len(wrong) > 0 {
			fixtures.FailWithHint("wrong-peer", "the board is not where the switches expect it, or its connector to the baseboard is damaged: reseat it; see Fabric Manager's log for these links",
				"active NVLinks of %s that do not end at a switch: %s", g, strings.Join(wrong, ", "))
		}
	}, fixtures.Needs(fixtures.NVML))

// judgeRemote names the active links that end elsewhere than at a switch, and
// says whether anything is known of where the GPU's links end.
func judgeRemote(g fixtures.Facts, all []fixtures.Facts) (told bool, wrong []string) {
	for _, l := range g.NVLinks {
		told = told || l.Switch || l.Remote != ""
		if !l.Active || l.Switch {
			continue
		}
		at := "nowhere"
		if l.Remote != "" {
			at = "at " + l.Remote
		}
		for _, other := range all {
			if l.Remote != "" && other.BusID == l.Remote {
				at = fmt.Sprintf("at gpu%d", other.Slot)
			}
		}
		wrong = append(wrong, fmt.Sprintf("%d %s", l.Link, at))
	}
	return told || len(wrong) == 0, wrong
}
