package inventory

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("inventory/gpu-count", fixtures.Whole, Label("gate"),
	"the profile, PCI, NVML and CUDA list the same GPUs", func(n *fixtures.Node) {
		expected, counted := n.Profile().GPUCount()
		missing := missingGPUs(n)
		switch {
		case len(missing) > 0:
			fixtures.FailWithHint("missing-gpu", missingHint(n),
				"%d GPU(s) missing: %s", len(missing), strings.Join(missing, "; "))
		case counted && expected != len(n.GPUs):
			fixtures.Fail("missing-gpu", "the profile counts %d GPUs, the node has %d%s", expected, len(n.GPUs), hiddenGPUs(n))
		case n.AllHidden():
			fixtures.Skip("no-profile", "no GPU is left to test, and no profile says how many there should be%s", hiddenGPUs(n))
		case !n.Driver.NVMLInit.OK():
			fixtures.Error("blocked-by", "blocked by inventory/driver-match: NVML could not be asked for its GPUs")
		case !n.Driver.CUDAInit.OK():
			fixtures.Error("blocked-by", "blocked by inventory/cuda-init: CUDA could not be asked for its GPUs")
		case !counted:
			fixtures.Skip("no-profile", "PCI, NVML and CUDA agree on %d GPU(s); no profile says how many there should be%s",
				len(n.GPUs), hiddenGPUs(n))
		}
	}, fixtures.Needs())

// missingGPUs says of each GPU that is not listed by everybody who was asked
// where it is missing.
func missingGPUs(n *fixtures.Node) []string {
	var missing []string
	expected, counted := n.Profile().GPUCount()
	for _, g := range n.GPUs {
		name := fmt.Sprintf("gpu%d", g.Slot)
		if g.BusID != "" {
			name += " at " + g.BusID
		}
		switch {
		case g.Expected:
			missing = append(missing, name+" is counted by the profile, and nobody lists it")
		case g.Lost:
			missing = append(missing, name+" has fallen off the bus: NVML answers GPU_IS_LOST")
		case g.Hung != "":
			missing = append(missing, name+" did not answer "+g.Hung)
		case n.Driver.NVMLInit.OK() && g.NVMLIndex < 0:
			missing = append(missing, name+" is listed by PCI and not by NVML")
		case n.Driver.CUDAInit.OK() && g.CUDAOrdinal < 0:
			missing = append(missing, name+" is not listed by CUDA")
		}
	}
	if counted && expected > len(n.GPUs) {
		for _, h := range n.Hidden {
			missing = append(missing, fmt.Sprintf("gpu%d at %s is hidden by %s", h.Slot, h.BusID, h.Reason))
		}
	}
	return missing
}

func missingHint(n *fixtures.Node) string {
	if _, counted := n.Profile().GPUCount(); counted && len(n.Hidden) > 0 {
		const withheld = "the GPUs are there and were withheld from this run: "
		if n.Hidden[0].Reason == "container" {
			return withheld + "give the container all of them (in a pod, request as many nvidia.com/gpu as the server has), or hold it to no profile"
		}
		return withheld + "run it without " + n.Hidden[0].Reason
	}
	return "look for the GPU's bus id in the kernel log (fallen off the bus, Xid 79), then power-cycle the server and reseat that GPU"
}

func hiddenGPUs(n *fixtures.Node) string {
	if len(n.Hidden) == 0 {
		return ""
	}
	var ids []string
	for _, h := range n.Hidden {
		ids = append(ids, fmt.Sprintf("gpu%d at %s (%s)", h.Slot, h.BusID, h.Reason))
	}
	return "; hidden from this run: " + strings.Join(ids, ", ")
}
