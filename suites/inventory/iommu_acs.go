package inventory

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("inventory/iommu-acs", fixtures.Whole, Label("gate"),
	"no IOMMU translates, and no bridge between two GPUs redirects peer requests", func(n *fixtures.Node) {
		switch {
		case n.Host.Virtualised:
			fixtures.Skip("virtualised", "what IOMMU and bridges do is the host's to see")
		case n.AllHidden():
			fixtures.Skip("no-subjects", "every GPU is hidden from this run%s", hiddenGPUs(n))
		case !n.OnPCI():
			fixtures.Skip("no-sysfs", "sysfs does not show the GPUs")
		}
		bridges := n.BridgesBetweenGPUs()
		n.Record("bridges between GPUs", float64(len(bridges)), "bridges")
		translated, redirecting, unread := judgeIsolation(n.GPUs, bridges)
		switch {
		case len(translated) > 0:
			fixtures.FailWithHint("iommu-translated", "boot with iommu=pt (or intel_iommu=off, amd_iommu=off), or turn the IOMMU off in the BIOS",
				"an IOMMU translates what these GPUs send: %s", strings.Join(translated, ", "))
		case len(redirecting) > 0:
			fixtures.FailWithHint("acs-redirect", "turn ACS off in the BIOS, or its redirect bits with setpci on each bridge (ECAP_ACS+6.w=0000); "+costOfRedirection(bridges),
				"Access Control Services redirect peer traffic at %s", strings.Join(redirecting, ", "))
		case len(unread) > 0:
			fixtures.Skip("no-sysfs", "the extended configuration space of %s is for root alone: run as root to see Access Control Services", strings.Join(unread, ", "))
		}
	}, fixtures.Needs())

// costOfRedirection is who loses by it. Peers over NVLink, and those whose way
// over PCIe has to pass the root complex anyhow, do not.
func costOfRedirection(bridges []fixtures.Bridge) string {
	if slices.ContainsFunc(bridges, func(b fixtures.Bridge) bool { return b.Detours && b.Redirect != nil && *b.Redirect }) {
		return "peer traffic goes up to the root complex meanwhile"
	}
	return "no way between two GPUs grows longer by it here, but that to other devices may (network cards with GPUDirect RDMA): " +
		"where the IOMMU has to stay on, a waiver in the profile says so"
}

// judgeIsolation names the GPUs whose IOMMU domain translates addresses, the
// bridges that redirect, and those that could not be read. A domain of type
// identity passes addresses through.
func judgeIsolation(gpus []fixtures.Facts, bridges []fixtures.Bridge) (translated, redirecting, unread []string) {
	for _, g := range gpus {
		if g.IOMMU != "" && g.IOMMU != "identity" {
			translated = append(translated, fmt.Sprintf("gpu%d at %s (%s)", g.Slot, g.BusID, g.IOMMU))
		}
	}
	for _, b := range bridges {
		switch {
		case b.Redirect == nil:
			unread = append(unread, b.BusID)
		case *b.Redirect:
			redirecting = append(redirecting, b.BusID)
		}
	}
	return translated, redirecting, unread
}
