package sim

import (
	"slices"

	"github.com/peerproof/peerproof/cuda"
)

// operation is one piece of work on a stream: a copy or a kernel.
type operation struct {
	stream *stream
	sm     bool // by the SMs, not a copy engine
	// reads and writes are the memory that it touches, beside what else it
	// needs: results and flags, which no fault of data shows in.
	reads, writes, beside []span
	staged                bool     // through the host, without a direct path
	enabled               bool     // it has access, whatever its context has
	seen                  []access // what accesses found
}

// access is what an operation does to memory, as a fault sees it: the GPU
// whose engines drive it works on the memory of an owner.
type access struct {
	driver, owner int // owner is host for host memory
	engine        engine
}

func kindOf(isSM, write bool) engine {
	switch {
	case isSM && write:
		return smWrite
	case isSM:
		return smRead
	case write:
		return ceWrite
	default:
		return ceRead
	}
}

// accesses are those to memory that is not the driving GPU's own; where there
// is no such, those to its own. Each kind is there once.
func (o *operation) accesses() []access {
	if o.seen != nil {
		return o.seen
	}
	driver := o.stream.context.gpu.index
	var remote, own []access
	add := func(spans []span, write bool) {
		for _, s := range spans {
			to := &remote
			if s.gpu == driver {
				to = &own
			}
			if a := (access{driver, s.gpu, kindOf(o.sm, write)}); !slices.Contains(*to, a) {
				*to = append(*to, a)
			}
		}
	}
	add(o.reads, false)
	add(o.writes, true)
	if o.seen = remote; remote == nil {
		o.seen = own
	}
	return o.seen
}

// touches says that a fault of an operation shows in an access.
func (ft *fault) touches(a access) bool {
	switch {
	case ft.engine&a.engine == 0:
		return false
	case ft.gpu >= 0:
		return ft.gpu == a.driver || ft.gpu == a.owner
	case a.owner == host:
		return false
	default:
		return ft.pairs(a.driver, a.owner)
	}
}

// faultsOf are the faults of a kind that show in an operation.
func (p *process) faultsOf(o *operation, kind string) []*fault {
	var hit []*fault
	for i := range p.file.faults {
		ft := &p.file.faults[i]
		if ft.kind != kind {
			continue
		}
		for _, a := range o.accesses() {
			if ft.touches(a) {
				hit = append(hit, ft)
				break
			}
		}
	}
	return hit
}

// begin queues an operation's start. It says whether the operation then has
// its effect: not behind work that hangs or after a fault, and not where a
// fault stops it.
func (p *process) begin(o *operation) (effect bool) {
	s := o.stream
	s.busy, s.polled = true, false
	for _, spans := range [][]span{o.reads, o.writes} {
		for _, m := range spans {
			if m.gpu != host {
				g := p.gpus[m.gpu]
				s.touched = append(s.touched, g)
				g.traffic += m.n
			}
		}
	}
	s.touched = append(s.touched, s.context.gpu)
	if s.hung || p.pending != cuda.Success {
		return false
	}
	if p.forbidden(o) {
		p.fault(s.context.gpu)
		return false
	}
	if hit := p.faultsOf(o, "crash"); hit != nil {
		p.crash(hit[0].signal)
	}
	if p.faultsOf(o, "hang") != nil {
		s.hung = true
		return false
	}
	if p.faultsOf(o, "illegal-address") != nil {
		p.fault(s.context.gpu)
		return false
	}
	return true
}

// forbidden says that an operation touches what its context may not, or what is
// freed by now. A copy engine that has no direct way goes through the host.
func (p *process) forbidden(o *operation) bool {
	c := o.stream.context
	refused := func(m span, write bool) bool {
		if m.gone || o.enabled {
			return m.gone
		}
		if o.sm {
			return !p.mayReach(c, m.allocation, write)
		}
		return p.closed(c, m.allocation, write)
	}
	for _, m := range o.writes {
		if refused(m, true) {
			return true
		}
	}
	for _, m := range append(o.reads[:len(o.reads):len(o.reads)], o.beside...) {
		if refused(m, false) {
			return true
		}
	}
	return false
}

// fault is what a kernel runs into that touches what it may not: nothing is
// said until somebody waits, then it is the answer of every call.
func (p *process) fault(g *gpu) {
	p.pending = cuda.ErrIllegalAddress
	p.xid(g, 31, "MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x1000000_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ")
}

// key is what samples of an operation are counted for.
func (o *operation) key() sampleKey {
	driver := o.stream.context.gpu.index
	seen := access{driver, driver, kindOf(o.sm, false)}
	if all := o.accesses(); len(all) > 0 {
		seen = all[0]
	}
	return sampleKey{driver: driver, other: seen.owner, engine: seen.engine}
}

// timing queues the time of an operation that moves so many bytes at a rate in
// bytes a second, with what slows it, and takes at least so many seconds.
func (p *process) timing(o *operation, from, to int, bytes uint64, rate, least float64) {
	if rate <= 0 || bytes == 0 {
		return
	}
	key := o.key()
	number := p.sample(o.stream, key)
	it := &item{stream: o.stream, from: from, to: to}
	noise := p.noise(key, number)
	rate *= noise
	for _, ft := range p.faultsOf(o, "slow") {
		switch {
		case o.staged && ft.gpu < 0: // the fault is of the path between the two
		case ft.when.kind == "always", ft.when.kind == "sample" && ft.when.sample == number:
			rate *= ft.factor
		case ft.when.kind != "sample":
			it.disturbed = append(it.disturbed, disturbance{ft.when.kind, ft.factor})
		}
	}
	it.seconds = float64(bytes) / rate
	if least /= noise; it.seconds < least {
		it.seconds, it.disturbed = least, nil // no bandwidth limits it
	}
	it.uses = p.uses(from, to, o.staged, float64(bytes)/it.seconds/noise)
	p.queue = append(p.queue, it)
}

// damage is what becomes of bytes on the way to memory.
type damage struct {
	arrives uint64 // so many bytes, from the first on, do
	flips   []flip
}

// flip is a bit that is wrong: of the byte at an offset of what is moved.
type flip struct {
	at  uint64
	bit uint
}

// seenKey is a fault that shows only once in an ordered pair.
type seenKey struct {
	fault         *fault
	driver, owner int
}

// damageTo finds what becomes of an operation's bytes on their way to dst; src
// is where they come from. One of the two may be nil: a kernel may load bytes
// to look at them only, or store what it makes itself. Offsets of a pair count
// from the start of the allocation that the bytes arrive in.
func (p *process) damageTo(o *operation, dst, src *span) damage {
	arrival := dst
	if dst == nil {
		arrival = src
	}
	d := damage{arrives: arrival.n}
	for _, ft := range p.faultsOf(o, "stale") {
		if ft.firstOnly && p.shown(ft, o) {
			continue
		}
		d.arrives = min(d.arrives, saturated(ft.offset, arrival.off))
	}
	for _, ft := range p.faultsOf(o, "corrupt") {
		if ft.gpu < 0 {
			d.flip(ft, arrival.off, arrival.n)
		}
	}
	for i := range p.file.faults {
		ft := &p.file.faults[i]
		if ft.kind != "corrupt" || ft.gpu < 0 {
			continue
		}
		// A bad cell shows once: in what is written to it, and only where the
		// fault is of reads alone in what is read from it.
		writes := ft.engine&kindOf(o.sm, true) != 0
		reads := ft.engine&kindOf(o.sm, false) != 0
		switch {
		case writes && dst != nil && dst.gpu == ft.gpu:
			d.flip(ft, dst.start+dst.off, dst.n)
		case reads && !writes && src != nil && src.gpu == ft.gpu:
			d.flip(ft, src.start+src.off, src.n)
		}
	}
	return d
}

// shown says that a first-only fault has shown between the two GPUs of an
// operation, and notes that it has now.
func (p *process) shown(ft *fault, o *operation) bool {
	before := false
	for _, a := range o.accesses() {
		if ft.touches(a) {
			key := seenKey{ft, a.driver, a.owner}
			before = before || p.seen[key]
			p.seen[key] = true
		}
	}
	return before
}

// flip adds the fault's bit where it falls into n bytes from an offset on.
func (d *damage) flip(ft *fault, off, n uint64) {
	if ft.offset >= off && ft.offset-off < n {
		d.flips = append(d.flips, flip{ft.offset - off, ft.bit})
	}
}

func (d *damage) none(n uint64) bool { return d.arrives == n && d.flips == nil }

// saturated is a-b, or 0 where that is negative.
func saturated(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}

// store has an operation write to dst by write, which is given as many bytes as
// arrive: dst's own or, where the writes never reach their owner, a mirror's.
func (p *process) store(o *operation, dst span, d damage, write func([]byte)) {
	p.wrote(dst)
	bytes := dst.bytes()
	if p.mirrored(o, dst) {
		bytes = dst.mirror(o.stream.context.gpu.index, d.arrives)
	} else {
		dst.unmirror()
	}
	if d.arrives > 0 {
		write(bytes[:d.arrives])
	}
	for _, f := range d.flips {
		if f.at < d.arrives {
			bytes[f.at] ^= 1 << f.bit
		}
	}
}

// copied is a copy whose two sides have not been written since: made again, it
// would change nothing.
type copied struct{ dst, src span }

// maxCopied bounds the list of copies that are remembered.
const maxCopied = 64

// move copies src to dst, unless that was done before and neither has been
// written since. Memory of the host, and what another process shares, is
// written without anybody knowing, so copies of it are always made.
func (p *process) move(o *operation, dst, src span) {
	d := p.damageTo(o, &dst, &src)
	c := copied{dst, src}
	plain := d.none(dst.n) && dst.gpu != host && src.gpu != host && !dst.shared && !src.shared && !dst.overlaps(src) &&
		dst.mirrors == nil && src.mirrors == nil && !p.mirrored(o, dst)
	if plain {
		for _, before := range p.copies {
			if before == c {
				return
			}
		}
	}
	from := src.seenBy(o.stream.context.gpu.index)
	p.store(o, dst, d, func(b []byte) { copy(b, from) })
	if plain {
		if len(p.copies) == maxCopied {
			p.copies = p.copies[1:]
		}
		p.copies = append(p.copies, c)
	}
}

// wrote forgets the copies that a write to a span makes untrue.
func (p *process) wrote(s span) {
	kept := p.copies[:0]
	for _, c := range p.copies {
		if !c.dst.overlaps(s) && !c.src.overlaps(s) {
			kept = append(kept, c)
		}
	}
	p.copies = kept
}

// forget is wrote for a whole allocation that is no more.
func (p *process) forget(part *allocation) {
	part.gone = true
	p.wrote(span{part, 0, uint64(len(part.data))})
}
