package sim

import "github.com/peerproof/peerproof/cuda/kernels"

// chain links elements into one cycle.
func (l *launch) chain() {
	ptr, count, stride, seed := l.args[0], l.args[1], l.args[2], l.args[3]
	if count == 0 {
		return
	}
	if ptr%8 != 0 || stride%8 != 0 || stride > 1<<windowBits || count > 1<<windowBits {
		l.illegal = true
	}
	var dst span
	if !l.illegal {
		dst = l.span(ptr, (count-1)*stride+8)
	}
	o := &operation{writes: []span{dst}}
	if l.begin(o) {
		d := l.p.damageTo(o, &dst, nil)
		flips := d.flips
		d.flips = nil
		l.p.store(o, dst, d, func(b []byte) {
			for i := range count {
				if at := i * stride; at+8 <= uint64(len(b)) {
					put(b[at:], ptr+kernels.ChainNext(seed, count, i)*stride)
				}
			}
			for _, f := range flips {
				if f.at < uint64(len(b)) && f.at%stride < 8 {
					b[f.at] ^= 1 << f.bit
				}
			}
		})
	}
	if !l.illegal {
		l.p.timeStore(o, span{dst.allocation, dst.off, count * 8})
	}
}

// chase follows links, each load after the one before. Where loads of that
// memory are stale, out keeps its old bytes; where one arrives with a wrong bit,
// out has it. The way itself is followed as it is in memory, so that a fault of
// data ends no process.
func (l *launch) chase() {
	ptr, steps, out := l.args[0], l.args[1], l.args[2]
	first, sum := l.span(ptr, 8), l.span(out, 8)
	if ptr%8 != 0 {
		l.illegal = true
	}
	o := &operation{reads: []span{first}}
	if l.begin(o) {
		all := span{first.allocation, 0, uint64(len(first.data))}
		last, arrived, wrong, ok := l.follow(all, ptr, steps, l.p.damageTo(o, nil, &all))
		switch {
		case !ok:
			l.p.fault(l.stream.context.gpu)
		case arrived:
			l.result(o, sum, func(b []byte) { put(b, last^wrong) })
		}
	}
	if !l.illegal {
		l.p.takes(float64(steps)*l.p.latency(l.gpu(), first.gpu).load*l.p.jitter(o), l.stream)
	}
}

// follow takes so many steps from an address on within an allocation. It says
// where they end, whether no load was stale, and which bits arrived wrong; ok is
// false where a link leads out of the allocation.
func (l *launch) follow(all span, from, steps uint64, d damage) (last uint64, arrived bool, wrong uint64, ok bool) {
	seen := all.seenBy(l.gpu())
	arrived = true
	at := from
	for i := uint64(0); i < steps; i++ {
		off := at - all.at
		if at%8 != 0 || off >= all.n || all.n-off < 8 {
			return 0, false, 0, false
		}
		arrived = arrived && off+8 <= d.arrives
		for _, f := range d.flips {
			if f.at-off < 8 {
				wrong |= 1 << (8*(f.at-off) + uint64(f.bit))
			}
		}
		at = get(seen[off:])
		if at == from { // a cycle: what comes is known
			steps = (steps - i - 1) % (i + 1)
			i = ^uint64(0)
			if steps == 0 {
				break
			}
		}
	}
	return at, arrived, wrong, true
}
