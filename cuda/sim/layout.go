package sim

import (
	"fmt"
	"slices"
)

// layout is where the node's devices sit on PCI.
type layout struct {
	gpus []place
	// nvswitches are the bus ids of the NVSwitches that PCI lists. Those of
	// Blackwell are no PCI devices.
	nvswitches []string
}

// place is one GPU's place on PCI.
type place struct {
	bus    string   // 0000:18:00.0
	domain uint32   // of bus
	number uint32   // bus number
	root   string   // pci0000:15
	above  []string // bridges from the root to the GPU
}

// hgxBuses are the bus numbers of the eight GPUs of a common HGX baseboard.
var hgxBuses = []uint32{0x18, 0x2a, 0x3a, 0x5d, 0x9a, 0xab, 0xba, 0xdb}

// newLayout places the GPUs of a file: in the order of their numbers, so that
// PCI order is the file's order. GPUs of one NUMA node hang below one root;
// those of one PCIe switch below the same upstream port.
func newLayout(f *File) layout {
	l := layout{gpus: make([]place, f.count)}
	for i := range l.gpus {
		p := &l.gpus[i]
		switch {
		case f.count <= len(hgxBuses):
			p.number = hgxBuses[i]
		case f.count <= 60:
			p.number = uint32(5 + 4*i)
		default:
			p.domain, p.number = uint32(i/len(hgxBuses)), hgxBuses[i%len(hgxBuses)]
		}
		p.bus = busID(p.domain, p.number, 0)
	}
	ports := map[string]int{} // root ports given below each root
	tops := map[int]string{}  // the root port above a PCIe switch, by its first GPU
	for i := range l.gpus {
		p := &l.gpus[i]
		first := 0
		for l.gpus[first].domain != p.domain || f.numa[first] != f.numa[i] {
			first++ // at the latest, i is its own root's first
		}
		rootBus := l.gpus[first].number - 3
		p.root = fmt.Sprintf("pci%04x:%02x", p.domain, rootBus)
		newPort := func() string {
			n := ports[p.root]
			ports[p.root]++
			return fmt.Sprintf("%04x:%02x:%02x.%x", p.domain, rootBus, n%31+1, n/31)
		}
		at, group := -1, []int(nil)
		for _, g := range f.switches {
			if k := slices.Index(g, i); k >= 0 {
				at, group = k, g
			}
		}
		if at < 0 {
			p.above = []string{newPort()}
			continue
		}
		lead := slices.Min(group)
		if tops[lead] == "" {
			tops[lead] = newPort()
		}
		bus := l.gpus[lead].number
		p.above = []string{tops[lead], busID(p.domain, bus-2, 0), busID(p.domain, bus-1, at)}
	}
	if f.nvlink != nil && f.nvlink.switched > 0 && f.product.major < 10 {
		switches := map[int]int{7: 6, 8: 6, 9: 4}[f.product.major] // HGX-2, HGX A100, HGX H100
		for i := range switches {
			l.nvswitches = append(l.nvswitches, busID(0, uint32(0xe1+i), 0))
		}
	}
	return l
}

func busID(domain, bus uint32, device int) string {
	return fmt.Sprintf("%04x:%02x:%02x.0", domain, bus, device)
}

// bridges are the bus ids of all bridges above GPUs, sorted.
func (l *layout) bridges() []string {
	var all []string
	for _, p := range l.gpus {
		all = append(all, p.above...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
