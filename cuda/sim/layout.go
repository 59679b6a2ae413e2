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
	for i := range l.gpus {
		p := &l.gpus[i]
		first := slices.IndexFunc(f.numa, func(n int) bool { return n == f.numa[i] })
		p.root = fmt.Sprintf("pci%04x:%02x", p.domain, l.gpus[first].number-3)
		port := p.number // the bus whose root port leads to the GPU
		for _, group := range f.switches {
			if at := slices.Index(group, i); at >= 0 {
				top := l.gpus[slices.Min(group)]
				p.above = []string{busID(top.domain, top.number-3, 1), busID(top.domain, top.number-2, 0), busID(top.domain, top.number-1, at)}
			}
		}
		if p.above == nil {
			p.above = []string{busID(p.domain, port-3, 1)}
		}
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
