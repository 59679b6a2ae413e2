package sim

import (
	"slices"
)

const gigabyte = 1e9 // bandwidths are in bytes a second; 1 GB/s is 1e9

// linkRate is NVLink's nominal rate of one link in one direction, in bytes a
// second, by version, as the products' data sheets state it.
var linkRate = map[int]float64{1: 20 * gigabyte, 2: 25 * gigabyte, 3: 25 * gigabyte, 4: 25 * gigabyte, 5: 50 * gigabyte}

// lanes16 is PCIe's rate of sixteen lanes after line coding, in bytes a
// second, by generation.
var lanes16 = map[int]float64{
	1: 4 * gigabyte, 2: 8 * gigabyte, 3: 15.75 * gigabyte, 4: 31.5 * gigabyte, 5: 63 * gigabyte, 6: 121 * gigabyte,
}

func (l pcieLink) rate() float64 { return lanes16[l.gen] * float64(l.width) / 16 }

// join lays the NVLinks of the node, and takes those down that are.
func (p *process) join() {
	f := p.file
	if f.nvlink == nil {
		return
	}
	for _, g := range p.gpus {
		for i := range f.nvlink.switched {
			l := link{peer: toSwitch, number: g.index}
			if n := len(p.layout.nvswitches); n > 0 {
				l.bus = p.layout.nvswitches[i%n]
			}
			g.links = append(g.links, l)
		}
	}
	for _, pair := range f.nvlink.pairs {
		a, b := p.gpus[pair.a], p.gpus[pair.b]
		for range pair.links {
			i, j := len(a.links), len(b.links)
			a.links = append(a.links, link{peer: b.index, number: j})
			b.links = append(b.links, link{peer: a.index, number: i})
		}
	}
	for _, ft := range f.faults {
		if ft.kind == "links-down" {
			for _, l := range ft.links {
				p.gpus[ft.gpu].links[l].down = true
			}
		}
	}
}

// activeLinks is how many NVLinks carry data between two GPUs: behind
// switches as many as both have, else those that are active at both ends.
func (p *process) activeLinks(a, b *gpu) int {
	if p.file.nvlink == nil || a == b {
		return 0
	}
	up := func(l link) bool { return !l.down }
	if p.file.nvlink.switched > 0 {
		return min(count(a.links, up), count(b.links, up))
	}
	return count(a.links, func(l link) bool { return up(l) && l.peer == b.index && up(b.links[l.number]) })
}

func count[T any](all []T, is func(T) bool) (n int) {
	for _, v := range all {
		if is(v) {
			n++
		}
	}
	return n
}

// reaches says that there is a direct path between two GPUs.
func (p *process) reaches(a, b *gpu) bool { return p.file.pcieP2P || p.activeLinks(a, b) > 0 }

// crosses says that the way between two GPUs crosses from socket to socket.
func (p *process) crosses(a, b *gpu) bool { return p.file.numa[a.index] != p.file.numa[b.index] }

// sharesSwitch says that two GPUs are under one PCIe switch.
func (p *process) sharesSwitch(a, b *gpu) bool {
	return slices.ContainsFunc(p.file.switches, func(group []int) bool {
		return slices.Contains(group, a.index) && slices.Contains(group, b.index)
	})
}

// directRate is what a copy engine reaches between two GPUs over the direct
// path.
func (p *process) directRate(a, b *gpu) float64 {
	e := &p.file.efficiency
	if n := p.activeLinks(a, b); n > 0 {
		return float64(n) * linkRate[p.file.nvlink.version] * e.nvlink
	}
	rate := min(a.loaded.rate(), b.loaded.rate())
	if p.crosses(a, b) {
		return rate * e.sys
	}
	return rate * e.pcie
}

// stagedRate is what a copy reaches through the host, driven by a on b.
func (p *process) stagedRate(a, b *gpu) float64 {
	if ft := p.pairFault("staged-faster", a, b); ft != nil {
		return ft.factor * p.directRate(a, b)
	}
	return min(a.loaded.rate(), b.loaded.rate()) * p.file.efficiency.staged
}

// hostRate is what a copy engine reaches between a GPU and the host.
func (p *process) hostRate(g *gpu) float64 { return g.loaded.rate() * p.file.efficiency.host }

// localRate is how many bytes a second a GPU reads and writes in its own
// memory, both counted.
func (p *process) localRate() float64 {
	pr := &p.file.product
	theory := float64(pr.busBits) * float64(pr.memoryMHz) * 1e6 * 2 / 8
	if theory == 0 {
		theory = 1000 * gigabyte // a model that nothing is known of
	}
	return theory * p.file.efficiency.local
}
