package sim

// latency is what one access, one small copy and one signal take, in seconds.
type latency struct {
	load float64 // a load that depends on the one before
	copy float64 // a copy too small for its bandwidth to matter
	flag float64 // a flag there and another one back, between resident kernels
}

const nanosecond = 1e-9

// latencies are those of each kind of way. Measured on one H200 are 1195 ns for
// a load from pinned host memory (nvbandwidth) and 1526 ns for flags between two
// kernels of one GPU. The others are set in proportion, in the order and about
// the size that is published: a load over NVSwitch takes somewhat less than one
// from the host, over PCIe more with each step up to the other socket.
var latencies = struct{ local, host, nvlink, pix, phb, sys latency }{
	local:  latency{600 * nanosecond, 1300 * nanosecond, 1526 * nanosecond},
	host:   latency{1195 * nanosecond, 1600 * nanosecond, 2400 * nanosecond},
	nvlink: latency{1100 * nanosecond, 1500 * nanosecond, 2700 * nanosecond},
	pix:    latency{1350 * nanosecond, 1800 * nanosecond, 3200 * nanosecond},
	phb:    latency{1700 * nanosecond, 2200 * nanosecond, 4000 * nanosecond},
	sys:    latency{2300 * nanosecond, 2900 * nanosecond, 5400 * nanosecond},
}

// pipelined is the size in bytes from which on queued copies hide what each
// needs to begin behind the one before.
const pipelined = 1 << 20

// latency is that of a GPU's accesses to the memory of an owner.
func (p *process) latency(driver, owner int) latency {
	switch owner {
	case host:
		return latencies.host
	case driver:
		return latencies.local
	}
	a, b := p.gpus[driver], p.gpus[owner]
	var l latency
	switch {
	case p.activeLinks(a, b) > 0:
		l = latencies.nvlink
	case p.crosses(a, b):
		l = latencies.sys
	case p.sharesSwitch(a, b):
		l = latencies.pix
	default:
		l = latencies.phb
	}
	for i := range p.file.faults {
		if ft := &p.file.faults[i]; ft.kind == "slow-latency" && ft.pairs(driver, owner) {
			l = latency{l.load * ft.factor, l.copy * ft.factor, l.flag * ft.factor}
		}
	}
	return l
}

// begins is what a copy takes however small it is.
func (p *process) begins(o *operation, dst, src int) float64 {
	driver := o.stream.context.gpu.index
	if o.staged {
		return p.latency(driver, host).copy * 2
	}
	return max(p.latency(driver, dst).copy, p.latency(driver, src).copy)
}

// jitter is noise for a time: what is more noisy takes longer.
func (p *process) jitter(o *operation) float64 {
	key := o.key()
	return 1 / p.noise(key, p.sample(o.stream, key))
}
