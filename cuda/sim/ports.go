package sim

// port is one direction of what a GPU is joined to others by. What runs at once
// through one port shares it.
type port struct {
	gpu  int
	out  bool
	kind int // pciePort, nvswitchPort, or the GPU at the other end of NVLinks
}

const (
	pciePort     = -1
	nvswitchPort = -2
)

// use is how much of a port's capacity work takes when nothing disturbs it.
type use struct {
	port  port
	share float64
}

// uses are the ports that work takes which moves so many bytes a second from
// one GPU, or the host, to another.
func (p *process) uses(from, to int, staged bool, rate float64) []use {
	if from == to {
		return nil
	}
	var all []use
	for _, end := range []struct {
		gpu, other int
		out        bool
	}{{from, to, true}, {to, from, false}} {
		if end.gpu == host {
			continue
		}
		g := p.gpus[end.gpu]
		at, capacity := port{end.gpu, end.out, pciePort}, g.loaded.rate()*p.file.efficiency.pcie
		switch {
		case end.other == host:
			capacity = g.loaded.rate() * p.file.efficiency.host
		case !staged:
			if n := p.activeLinks(g, p.gpus[end.other]); n > 0 {
				at.kind = end.other
				if p.file.nvlink.switched > 0 {
					at.kind = nvswitchPort
					n = count(g.links, func(l link) bool { return !l.down })
				}
				capacity = float64(n) * linkRate[p.file.nvlink.version] * p.file.efficiency.nvlink
			}
		}
		all = append(all, use{at, rate / capacity})
	}
	return all
}

// crowded says that work of several streams goes through one port.
func crowded(queue []*item) bool {
	users := map[port]*stream{}
	for _, it := range queue {
		for _, u := range it.uses {
			if s := users[u.port]; s != nil && s != it.stream {
				return true
			}
			users[u.port] = it.stream
		}
	}
	return false
}

// traffic is what runs through a port at once.
type traffic struct {
	users int
	share float64 // of all of them
}

// squeeze is what is left of an item's speed where its ports are shared: of one
// that is asked for more than it has, everybody gets his part.
func (it *item) squeeze(ports map[port]traffic) float64 {
	speed := 1.0
	for _, u := range it.uses {
		if t := ports[u.port]; t.users > 1 && t.share > 1 {
			speed = min(speed, 1/t.share)
		}
	}
	return speed
}
