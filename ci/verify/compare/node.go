package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

// nodeFile describes a simulated node with the GPUs, the links and the driver
// of a run's server. Comments say what a node file cannot express.
func nodeFile(r *report.Results) (string, error) {
	n := r.Node
	if n == nil || len(n.GPUs) == 0 {
		return "", fmt.Errorf("the run found no GPU, so that there is nothing to simulate")
	}
	var b strings.Builder
	b.WriteString("# A simulated node of the same shape, made from a run's inventory.\n")
	remark := func(format string, args ...any) {
		fmt.Fprintf(&b, "# Not simulated: %s\n", strings.ReplaceAll(plain(fmt.Sprintf(format, args...)), "#", ""))
	}
	first := &n.GPUs[0]
	for i := range n.GPUs {
		g := &n.GPUs[i]
		if g.Model != first.Model {
			remark("the model of %s, %s; all are simulated as the first", topology.SlotName(g.Slot), g.Model)
		}
		if g.Slot != i {
			remark("the slot number of %s, since others before it are hidden", topology.SlotName(g.Slot))
		}
	}
	b.WriteString("version: 1\nname: same-shape\n")
	fmt.Fprintf(&b, "gpus: {count: %d, model: %q, memory: 64MiB%s}\n", len(n.GPUs), plain(first.Model), pcieKey(first.PCIe))
	numa := make([]int, len(n.GPUs))
	for i := range n.GPUs {
		numa[i] = n.GPUs[i].NUMA
	}
	fmt.Fprintf(&b, "numa: %s\n", list(numa))
	if groups := switches(n); len(groups) > 0 {
		texts := make([]string, len(groups))
		for i, g := range groups {
			texts[i] = list(g)
		}
		fmt.Fprintf(&b, "pcie-switches: [%s]\n", strings.Join(texts, ", "))
	}
	b.WriteString(nvlinkKey(n))
	if !pcieP2P(n) {
		b.WriteString("pcie-p2p: false\n")
	}
	if version := n.Driver.NVML; driverVersion.MatchString(version) {
		fmt.Fprintf(&b, "driver: {version: %s%s}\n", version, cudaKey(n.Driver.CUDA))
	} else {
		remark("the driver's version %q", version)
	}
	virtualised := n.Host.Virtualised
	if virtualised && nvlinkKey(n) != "" {
		remark("the virtual machine, since in a simulated one NVML knows no NVLink")
		virtualised = false
	}
	fmt.Fprintf(&b, "environment: {virtualised: %t, container: %t, iommu: %s, nccl: %t}\n",
		virtualised, n.Host.Container, iommu(first.IOMMU), hasNCCL(r))
	return b.String(), nil
}

var driverVersion = regexp.MustCompile(`^[0-9]{3}\.[0-9]{2,3}(\.[0-9]{2})?$`)

func list(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// pcieKey is the lesser maximum of slot and GPU.
func pcieKey(p topology.PCIe) string {
	gen, width := p.GPUMaxGen, p.GPUMaxWidth
	if p.SlotMaxGen > 0 {
		gen = min(gen, p.SlotMaxGen)
	}
	if p.SlotMaxWidth > 0 {
		width = min(width, p.SlotMaxWidth)
	}
	if gen == 0 || width == 0 {
		return ""
	}
	return fmt.Sprintf(", pcie: {gen: %d, width: %d}", gen, width)
}

func cudaKey(version int) string {
	if version < 1000 {
		return ""
	}
	return fmt.Sprintf(", cuda: %q", fmt.Sprintf("%d.%d", version/1000, version%1000/10))
}

// switches groups the GPUs of one NUMA node that NVML calls PIX of each other.
func switches(n *topology.Node) (groups [][]int) {
	taken := map[int]bool{}
	for i := range n.GPUs {
		if taken[i] || i >= len(n.Peers) {
			continue
		}
		group := []int{i}
		for j := i + 1; j < len(n.GPUs) && j < len(n.Peers[i]); j++ {
			if n.Peers[i][j].Ancestor == "PIX" && n.GPUs[j].NUMA == n.GPUs[i].NUMA && !taken[j] {
				group = append(group, j)
				taken[j] = true
			}
		}
		if len(group) > 1 {
			groups = append(groups, group)
		}
	}
	return groups
}

// between is how many NVLinks of each of two GPUs name the other, the most.
func between(a, b *topology.GPU) int {
	naming := func(g, other *topology.GPU) (n int) {
		for _, l := range g.NVLinks {
			if l.Remote != "" && l.Remote == other.BusID {
				n++
			}
		}
		return n
	}
	return max(naming(a, b), naming(b, a))
}

// nvlinkKey is the line of the NVLinks, "" for a node without.
func nvlinkKey(n *topology.Node) string {
	version, most, switched := 0, 0, false
	for i := range n.GPUs {
		g := &n.GPUs[i]
		most = max(most, len(g.NVLinks))
		for _, l := range g.NVLinks {
			version, switched = max(version, l.Version), switched || l.Switch
		}
	}
	head := "nvlink: {"
	if version > 0 {
		head += fmt.Sprintf("version: %d, ", version)
	}
	if switched {
		return fmt.Sprintf("%sswitch: {links: %d}}\n", head, most)
	}
	var pairs []string
	for i := range n.GPUs {
		for j := i + 1; j < len(n.GPUs); j++ {
			if links := between(&n.GPUs[i], &n.GPUs[j]); links > 0 {
				pairs = append(pairs, fmt.Sprintf("{gpus: [%d, %d], links: %d}", i, j, links))
			}
		}
	}
	if len(pairs) == 0 {
		return ""
	}
	return head + "pairs: [" + strings.Join(pairs, ", ") + "]}\n"
}

// pcieP2P is false where no two GPUs without an NVLink have access, and some
// were asked.
func pcieP2P(n *topology.Node) bool {
	asked := false
	for i := range n.Peers {
		for j, p := range n.Peers[i] {
			if i == j || i >= len(n.GPUs) || j >= len(n.GPUs) || p.CanAccess == nil || between(&n.GPUs[i], &n.GPUs[j]) > 0 ||
				slices.ContainsFunc(n.GPUs[i].NVLinks, func(l topology.NVLink) bool { return l.Switch }) {
				continue
			}
			if *p.CanAccess {
				return true
			}
			asked = true
		}
	}
	return !asked
}

// iommu turns sysfs's type of a domain into a node file's word.
func iommu(domain string) string {
	switch domain {
	case "":
		return `"off"`
	case "identity":
		return "passthrough"
	default:
		return "translated"
	}
}

// hasNCCL says that a check of the collectives found the library.
func hasNCCL(r *report.Results) bool {
	for i := range r.Specs {
		if s := &r.Specs[i]; s.Area() == "collective" && s.Verdict != verdict.Skip && s.Code != verdict.NotRun {
			return true
		}
	}
	return false
}
