package diff

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/report"
)

// Kind is what a change is of.
type Kind string

// The kinds of change.
const (
	Run      Kind = "run"      // what was asked
	Hardware Kind = "hardware" // which parts the server has
	Software Kind = "software" // drivers, kernel, firmware
	Setting  Kind = "setting"  // modes of the GPUs
)

// Change is something of the run or the node that is not what it was.
type Change struct {
	Kind   Kind   `json:"kind"`
	What   string `json:"what"`
	Before string `json:"before"` // "" where it was not there or not known
	After  string `json:"after"`
	// GPUs are the slots that it is about; absent for the whole server.
	GPUs []string `json:"gpus,omitempty"`
	Note string   `json:"note,omitempty"`
	// Worse says that a GPU is gone or does not answer any more.
	Worse bool `json:"worse,omitempty"`
}

// differ lists the facts that changed.
type differ struct{ all []Change }

func (d *differ) fact(kind Kind, what, before, after string) {
	if before != after {
		d.all = append(d.all, Change{Kind: kind, What: what, Before: before, After: after})
	}
}

// ofGPU adds a fact of one GPU to the same change of others.
func (d *differ) ofGPU(kind Kind, what, slot, before, after string) {
	if before == after {
		return
	}
	for i := range d.all {
		c := &d.all[i]
		if len(c.GPUs) > 0 && c.Kind == kind && c.What == what && c.Before == before && c.After == after && c.Note == "" {
			c.GPUs = append(c.GPUs, slot)
			return
		}
	}
	d.all = append(d.all, Change{Kind: kind, What: what, Before: before, After: after, GPUs: []string{slot}})
}

// runChanges are those of what was asked.
func runChanges(before, after *report.Results) []Change {
	var d differ
	b, a := &before.Run, &after.Run
	d.fact(Run, "host", b.Host, a.Host)
	d.fact(Run, "marks", b.Marks(), a.Marks())
	d.fact(Run, "tool", b.Tool, a.Tool)
	d.fact(Run, "profile", b.Profile, a.Profile)
	if b.Profile == a.Profile && before.ProfileText != after.ProfileText {
		d.all = append(d.all, Change{Kind: Run, What: "profile", Before: b.Profile, After: a.Profile, Note: "its text is another one"})
	}
	d.fact(Run, "preset", side(before).Preset, side(after).Preset)
	d.fact(Run, "-k", b.Keyword, a.Keyword)
	d.fact(Run, "-m", b.Labels, a.Labels)
	d.fact(Run, "simulated node", b.Node, a.Node)
	return d.all
}

// nodeChanges are those of the inventories, either of which may be nil.
func nodeChanges(before, after *topology.Node) []Change {
	var d differ
	switch {
	case before == nil && after == nil:
		return nil
	case before == nil || after == nil:
		word := map[bool]string{true: "none", false: "discovered"}
		d.all = append(d.all, Change{
			Kind: Run, What: "inventory", Before: word[before == nil], After: word[after == nil], Worse: after == nil,
			Note: "discovery did not come to its end in one of the runs",
		})
		return d.all
	}
	b, a := &before.Host, &after.Host
	d.fact(Hardware, "server's serial", b.Serial, a.Serial)
	d.fact(Hardware, "server's product", b.Product, a.Product)
	d.seats(before, after)
	d.gpus(before, after)
	d.paths(before, after)
	d.fact(Software, "kernel", b.Kernel, a.Kernel)
	d.fact(Software, "driver's kernel module", before.Driver.KernelModule, after.Driver.KernelModule)
	d.fact(Software, "driver (NVML)", before.Driver.NVML, after.Driver.NVML)
	d.fact(Software, "CUDA", cudaVersion(before.Driver.CUDA), cudaVersion(after.Driver.CUDA))
	d.fact(Software, "Fabric Manager", b.FabricManager, a.FabricManager)
	d.fact(Setting, "virtual machine", strconv.FormatBool(b.Virtualised), strconv.FormatBool(a.Virtualised))
	d.fact(Setting, "container", strconv.FormatBool(b.Container), strconv.FormatBool(a.Container))
	d.fact(Setting, "CUDA_VISIBLE_DEVICES", b.VisibleDevices, a.VisibleDevices)
	return d.all
}

// cudaVersion is cuDriverGetVersion's number as people write it.
func cudaVersion(v int) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%d.%d", v/1000, v%1000/10)
}

// seats finds GPUs that are gone, that are new, and that sit in another slot.
func (d *differ) seats(before, after *topology.Node) {
	for _, slot := range slots(before, after) {
		was, now := before.BySlot(slot), after.BySlot(slot)
		name := topology.SlotName(slot)
		is, came := stateOfGPU(before, was, slot), stateOfGPU(after, now, slot)
		if is != came {
			d.all = append(d.all, Change{
				Kind: Hardware, What: "GPU", Before: is, After: came, GPUs: []string{name}, Worse: is == there && !isHidden(after, slot),
			})
		}
		if was == nil || now == nil || sameGPU(was, now) || identity(was) == "" || identity(now) == "" {
			continue
		}
		c := Change{Kind: Hardware, What: "GPU", Before: identity(was), After: identity(now), GPUs: []string{name}}
		if other := seatOf(before, now); other >= 0 {
			c.Note = "it was " + topology.SlotName(other)
		} else {
			c.Note = "it was not in this server"
		}
		if other := seatOf(after, was); other >= 0 {
			c.Note += "; the one before is " + topology.SlotName(other)
		} else {
			c.Note += "; the one before is not here any more"
		}
		d.all = append(d.all, c)
	}
}

// there is the state of a GPU that every library lists.
const there = "there"

func stateOfGPU(n *topology.Node, g *topology.GPU, slot int) string {
	switch {
	case isHidden(n, slot):
		return "hidden"
	case g == nil, g.Expected:
		return "missing"
	case g.Lost:
		return "lost"
	case g.Hung != "":
		return "hung in discovery"
	case g.NVMLIndex < 0:
		return "not listed by NVML"
	case g.CUDAOrdinal < 0:
		return "not listed by CUDA"
	}
	return there
}

func isHidden(n *topology.Node, slot int) bool {
	return slices.ContainsFunc(n.Hidden, func(h topology.Hidden) bool { return h.Slot == slot })
}

// slots are those of either node, in order.
func slots(nodes ...*topology.Node) []int {
	var all []int
	for _, n := range nodes {
		for i := range n.GPUs {
			all = append(all, n.GPUs[i].Slot)
		}
		for _, h := range n.Hidden {
			all = append(all, h.Slot)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// identity is how a GPU is told from others of its model.
func identity(g *topology.GPU) string {
	switch {
	case g.Serial != "" && g.UUID != "":
		return "serial " + g.Serial + ", " + g.UUID
	case g.Serial != "":
		return "serial " + g.Serial
	default:
		return g.UUID
	}
}

// sameGPU goes by what both runs could read: the UUID, else the serial.
func sameGPU(a, b *topology.GPU) bool {
	if a.UUID != "" && b.UUID != "" {
		return a.UUID == b.UUID
	}
	return a.Serial == b.Serial && a.Serial != ""
}

// seatOf is the slot of a GPU in a node, -1 where it is not.
func seatOf(n *topology.Node, g *topology.GPU) int {
	for i := range n.GPUs {
		if sameGPU(&n.GPUs[i], g) {
			return n.GPUs[i].Slot
		}
	}
	return -1
}

// gpus compares what can be read of the GPUs in the same slot.
func (d *differ) gpus(before, after *topology.Node) {
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	for _, f := range []struct {
		kind Kind
		what string
		of   func(*topology.GPU) string
	}{
		{Hardware, "model", func(g *topology.GPU) string { return g.Model }},
		{Hardware, "bus id", func(g *topology.GPU) string { return g.BusID }},
		{Hardware, "memory in MiB", func(g *topology.GPU) string { return number(int(g.MemoryBytes >> 20)) }},
		{Hardware, "NUMA node", func(g *topology.GPU) string { return strconv.Itoa(g.NUMA) }},
		{Hardware, "active NVLinks", activeLinks},
		{Hardware, "PCIe, most of slot and GPU", func(g *topology.GPU) string {
			gen, width := g.PCIe.Max()
			if gen == 0 || width == 0 {
				return ""
			}
			return fmt.Sprintf("gen%d x%d", gen, width)
		}},
		{Software, "VBIOS", func(g *topology.GPU) string { return g.VBIOS }},
		{Software, "InfoROM", func(g *topology.GPU) string { return g.InfoROM }},
		{Setting, "MIG", func(g *topology.GPU) string { return strconv.FormatBool(g.MIG) }},
		{Setting, "compute mode", func(g *topology.GPU) string { return g.Modes.Compute }},
		{Setting, "persistence", func(g *topology.GPU) string { return g.Modes.Persistence }},
		{Setting, "power limit in watts", func(g *topology.GPU) string { return number(g.Modes.PowerLimit) }},
		{Setting, "ECC", func(g *topology.GPU) string { return g.Modes.ECC }},
		{Setting, "confidential computing", func(g *topology.GPU) string { return g.Modes.Confidential }},
		{Setting, "IOMMU domain", func(g *topology.GPU) string { return g.IOMMU }},
	} {
		for i := range after.GPUs {
			now := &after.GPUs[i]
			was := before.BySlot(now.Slot)
			if was == nil || stateOfGPU(before, was, now.Slot) != there || stateOfGPU(after, now, now.Slot) != there {
				continue // that it came or went is told already
			}
			d.ofGPU(f.kind, f.what, topology.SlotName(now.Slot), f.of(was), f.of(now))
		}
	}
}

func activeLinks(g *topology.GPU) string {
	if !g.NVLinkSupported {
		return ""
	}
	n := 0
	for _, l := range g.NVLinks {
		if l.Active {
			n++
		}
	}
	return strconv.Itoa(n)
}

// paths compares how GPUs reach each other.
func (d *differ) paths(before, after *topology.Node) {
	for i := range after.GPUs {
		for j := i + 1; j < len(after.GPUs); j++ {
			a, b := after.GPUs[i].Slot, after.GPUs[j].Slot
			if before.BySlot(a) == nil || before.BySlot(b) == nil {
				continue
			}
			was, now := before.Path(a, b).Class, after.Path(a, b).Class
			if was != "" && now != "" {
				d.ofGPU(Hardware, "path", topology.SlotName(a)+"-"+topology.SlotName(b), was, now)
			}
		}
	}
}
