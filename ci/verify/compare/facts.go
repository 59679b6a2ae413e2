package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
)

// topic is one kind of answer that a driver or a GPU gave.
type topic struct {
	Name string `json:"name"`
	// Source is the document, field or spec that recorded it.
	Source string `json:"source"`
	Facts  []fact `json:"facts"`
}

// fact is one answer about one subject.
type fact struct {
	Subject string `json:"subject"`
	Seen    string `json:"seen"`
	// Simulated is what a simulated node of the same shape answers; "" where
	// none was given or it has no such fact.
	Simulated string `json:"simulated,omitempty"`
	Differs   bool   `json:"differs,omitempty"`
}

// unrecorded is what no spec records, so that nobody looks for it here.
var unrecorded = []string{
	"cuDeviceGetP2PAttribute's own numbers (native atomics, performance rank): only what dereference/atomics and access/capability made of them.",
	"Which process an Xid hit where the kernel log cannot be read: NVML's events have no process, and the log is for root.",
	"The way that a copy without access took: transfer/staged has its rate, the driver tells no way.",
}

// facts are all topics of a run, in one order, also those without a fact.
func facts(r *run) []topic {
	all := []topic{
		{"Driver", "node.json", driverFacts(r.Node)},
		{"GPUs", "node.json", gpuFacts(r.Node)},
		{"Questions that a library refused or cannot answer", "node.json, errors", errorFacts(r.Node)},
		{"cuDeviceCanAccessPeer", "node.json, peers", peerFacts(r.Node, func(p topology.Peer) string {
			if p.CanAccess == nil {
				return "could not be asked"
			}
			return strconv.FormatBool(*p.CanAccess)
		})},
		{
			"nvmlDeviceGetP2PStatus, reads/writes (0 OK, 1 chipset, 2 GPU, 3 topology, 4 disabled, 5 not supported)", "node.json, peers",
			peerFacts(r.Node, func(p topology.Peer) string { return fmt.Sprintf("%d/%d", p.P2PRead, p.P2PWrite) }),
		},
		{"nvmlDeviceGetTopologyCommonAncestor", "node.json, peers", peerFacts(r.Node, func(p topology.Peer) string { return p.Ancestor })},
		{"NVLinks: state, version, remote end", "node.json, nvlinks", linkFacts(r.Node)},
		{"Fabric", "node.json, fabric", fabricFacts(r.Node)},
		{"Error counters before the run", "node.json, counters", counterFacts(r.Node)},
	}
	for _, t := range []struct {
		name   string
		checks []string
	}{
		{"Change of the error counters", []string{"link/nvlink-errors", "link/pcie-errors", "memory/ecc"}},
		{"PCIe links, idle and loaded", []string{"link/pcie-idle", "link/pcie-loaded"}},
		{"Enabling and disabling: what it costs", []string{"access/enable-cost"}},
		{"Enabling and disabling: error numbers", []string{"access/enable-twice", "access/disable-twice", "access/bad-flags", "access/self"}},
		{"Peers at once", []string{"access/simultaneous-peers"}},
		{"A load without access", []string{"access/one-way-is-one-way", "access/disable-revokes"}},
		{"Native atomics", []string{"dereference/atomics"}},
		{"Memory of cuMemCreate, pools and cuIpc", []string{"dereference/vmm", "dereference/pool", "dereference/ipc"}},
		{"Litmus tests, rounds of each outcome", []string{"ordering/message-passing", "ordering/store-buffering", "ordering/load-buffering", "ordering/flag-pingpong"}},
		{"The first transfer", []string{"transfer/first"}},
		{"Copies without access", []string{"transfer/staged", "bandwidth/peer-beats-staged"}},
		{"NCCL", []string{"collective/all-reduce", "collective/all-gather", "collective/reduce-scatter", "collective/send-recv", "collective/p2p-speedup"}},
	} {
		all = append(all, topic{t.name, strings.Join(t.checks, ", "), r.specFacts(t.checks)})
	}
	return append(all, topic{"Xids, and the process that each hit", "journal.jsonl", r.xidFacts()})
}

// specFacts are the outcomes of checks, with what they measured and what the
// driver answered.
func (r *run) specFacts(checks []string) (all []fact) {
	for i := range r.Specs {
		s := &r.Specs[i]
		if !slices.Contains(checks, s.Check()) {
			continue
		}
		text := string(s.Verdict)
		if s.Code != "" {
			text += " " + s.Code
		}
		if s.Message != "" {
			text += ": " + s.Message
		}
		for _, m := range s.Measurements {
			text += fmt.Sprintf("; %s %s %s", m.Name, figure(m), m.Unit)
		}
		for _, a := range r.answers[s.ID] {
			text += "; " + a
		}
		all = append(all, fact{Subject: s.ID, Seen: text})
	}
	return all
}

func figure(m verdict.Measurement) string { return strconv.FormatFloat(m.Value, 'g', 6, 64) }

func (r *run) xidFacts() (all []fact) {
	for _, x := range r.Xids {
		who := "process not named"
		if x.PID != 0 {
			who = "no process of this run"
			if task, ok := r.children[x.PID]; ok {
				who = "a process of this run (" + task + ")"
			}
		}
		subject := x.BusID
		if len(x.Specs) > 0 {
			subject = strings.Join(x.Specs, ", ")
		}
		all = append(all, fact{Subject: subject, Seen: fmt.Sprintf("Xid %d, %s, %s %s", x.Code, x.Source, who, x.Text)})
	}
	return all
}

func driverFacts(n *topology.Node) (all []fact) {
	if n == nil {
		return nil
	}
	add := func(subject, seen string) { all = append(all, fact{Subject: subject, Seen: seen}) }
	add("kernel module", n.Driver.KernelModule)
	add("NVML", n.Driver.NVML)
	add("CUDA", strconv.Itoa(n.Driver.CUDA))
	add("GPUs of NVML and of CUDA", fmt.Sprintf("%d and %d", n.Driver.NVMLGPUs, n.Driver.CUDAGPUs))
	for _, c := range []*topology.Call{n.Driver.NVMLInit, n.Driver.CUDAOpen, n.Driver.CUDAInit} {
		if c != nil {
			add(c.Op, call(*c))
		}
	}
	add("host", fmt.Sprintf("kernel %s, virtualised %t, container %t", n.Host.Kernel, n.Host.Virtualised, n.Host.Container))
	add("Fabric Manager", n.Host.FabricManager)
	return all
}

func call(c topology.Call) string {
	switch {
	case c.Hang:
		return "did not return"
	case c.Code == 0 && c.Error == "":
		return "success"
	}
	return fmt.Sprintf("%d %s", c.Code, c.Error)
}

func gpuFacts(n *topology.Node) []fact {
	return perGPUFacts(n, func(g *topology.GPU) []string {
		return []string{fmt.Sprintf("%s, compute capability %s, PCIe gen %d x%d of gen %d x%d (slot gen %d x%d), NUMA node %d, BAR1 %d MiB, IOMMU %q, %d bridge(s) above, NVLink supported %t, %s",
			g.Model, g.ComputeCapability, g.PCIe.Gen, g.PCIe.Width, g.PCIe.GPUMaxGen, g.PCIe.GPUMaxWidth, g.PCIe.SlotMaxGen, g.PCIe.SlotMaxWidth,
			g.NUMA, g.BAR1Bytes>>20, g.IOMMU, len(g.Above), g.NVLinkSupported, modes(g))}
	})
}

func modes(g *topology.GPU) string {
	return fmt.Sprintf("MIG %t, compute mode %s, persistence %s, ECC %s", g.MIG, g.Modes.Compute, g.Modes.Persistence, g.Modes.ECC)
}

func errorFacts(n *topology.Node) []fact {
	return perGPUFacts(n, func(g *topology.GPU) (lines []string) {
		for _, op := range sorted(g.Errors) {
			lines = append(lines, op+": "+call(g.Errors[op]))
		}
		return lines
	})
}

func linkFacts(n *topology.Node) []fact {
	return perGPUFacts(n, func(g *topology.GPU) (lines []string) {
		for _, l := range g.NVLinks {
			state, end := "inactive", l.Remote
			if l.Active {
				state = "active"
			}
			switch i := slices.IndexFunc(n.GPUs, func(o topology.GPU) bool { return o.BusID == l.Remote }); {
			case l.Switch:
				end = "switch " + end
			case i >= 0 && l.Remote != "":
				end = topology.SlotName(n.GPUs[i].Slot)
			}
			lines = append(lines, fmt.Sprintf("link %d: %s, version %d, to %s", l.Link, state, l.Version, end))
		}
		return lines
	})
}

func fabricFacts(n *topology.Node) []fact {
	return perGPUFacts(n, func(g *topology.GPU) []string {
		if g.Fabric == nil {
			return []string{"the driver lacks the call"}
		}
		return []string{strings.TrimSpace("state " + g.Fabric.State + ", status " + g.Fabric.Status + ", health " + g.Fabric.Health)}
	})
}

func counterFacts(n *topology.Node) []fact {
	return perGPUFacts(n, func(g *topology.GPU) (lines []string) {
		if g.Counters == nil {
			return nil
		}
		for _, name := range sorted(g.Counters.PCIe) {
			lines = append(lines, fmt.Sprintf("PCIe %s: %d", name, g.Counters.PCIe[name]))
		}
		for _, name := range sorted(g.Counters.ECC) {
			lines = append(lines, fmt.Sprintf("ECC %s: %d", name, g.Counters.ECC[name]))
		}
		for _, link := range sorted(g.Counters.Link) {
			for _, name := range sorted(g.Counters.Link[link]) {
				lines = append(lines, fmt.Sprintf("NVLink %d %s: %d", link, name, g.Counters.Link[link][name]))
			}
		}
		return lines
	})
}

// perGPUFacts is a fact for each line that a GPU gives. Where a line begins
// with a name and a colon, that is part of its subject.
func perGPUFacts(n *topology.Node, give func(*topology.GPU) []string) (all []fact) {
	if n == nil {
		return nil
	}
	for i := range n.GPUs {
		for _, line := range give(&n.GPUs[i]) {
			f := fact{Subject: topology.SlotName(n.GPUs[i].Slot), Seen: line}
			if name, rest, ok := strings.Cut(line, ": "); ok {
				f = fact{Subject: f.Subject + " " + name, Seen: rest}
			}
			all = append(all, f)
		}
	}
	return all
}

func peerFacts(n *topology.Node, say func(topology.Peer) string) (all []fact) {
	if n == nil {
		return nil
	}
	for i := range n.Peers {
		for j := range n.Peers[i] {
			if i < len(n.GPUs) && j < len(n.GPUs) && i != j {
				all = append(all, fact{Subject: topology.SlotName(n.GPUs[i].Slot) + "->" + topology.SlotName(n.GPUs[j].Slot), Seen: say(n.Peers[i][j])})
			}
		}
	}
	return all
}
