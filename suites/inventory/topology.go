package inventory

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("inventory/topology", fixtures.Pairs, Label("gate"),
	"the path between the two, and their NUMA nodes, are what the profile says", func(p *fixtures.Pair) {
		class, said := p.Profile().ExpectedClass(p.From.Slot, p.To.Slot)
		found := p.Node().Path(p.From.Slot, p.To.Slot).Class
		want, got := []placement{{"the path", class}}, []placement{{"the path", found}}
		for _, g := range []*fixtures.GPU{p.From, p.To} {
			if node, numa := p.Profile().ExpectedNUMA(g.Slot); numa {
				said = true
				what := fmt.Sprintf("the NUMA node of %s", g)
				want = append(want, placement{what, fmt.Sprint(node)})
				got = append(got, placement{what, fmt.Sprint(g.NUMA)})
			}
		}
		switch {
		case !said:
			fixtures.Skip("no-profile", "the path is %s; no profile says what it should be", orUnknown(found))
		case p.Node().Host.Virtualised:
			fixtures.Skip("virtualised", "a virtual machine's PCI tree is its own: it says nothing of where the GPUs are")
		}
		p.From.Known("nvmlDeviceGetTopologyCommonAncestor", "nvmlDeviceGetNvLinkState", "nvmlDeviceGetNvLinkRemotePciInfo_v2")
		p.To.Known("nvmlDeviceGetNvLinkState", "nvmlDeviceGetNvLinkRemotePciInfo_v2")
		if wrong := judgePlacement(want, got); len(wrong) > 0 {
			fixtures.FailWithHint("wrong-path", "compare with the server maker's slot plan: boards or bridges in other slots, or another NUMA setting of the BIOS; bus ids in the profile keep slots apart from PCI's order",
				"%s", strings.Join(wrong, "; "))
		}
	}, fixtures.Needs(fixtures.NVML), fixtures.BetweenTwo)

// placement is one thing about where GPUs are.
type placement struct{ what, value string }

// judgePlacement says what differs from what is wanted; an empty want wants
// nothing.
func judgePlacement(want, got []placement) (wrong []string) {
	for i, w := range want {
		if w.value != "" && w.value != got[i].value {
			wrong = append(wrong, fmt.Sprintf("%s is %s, the profile says %s", w.what, orUnknown(got[i].value), w.value))
		}
	}
	return wrong
}
