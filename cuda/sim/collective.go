package sim

import (
	"slices"
	"unsafe"

	"github.com/peerproof/peerproof/cuda"
)

// collective is one operation of a clique: a part of every rank, or a sender's
// and a receiver's.
type collective struct {
	what  verb
	parts []*part // by rank; for a send, its and the receiver's
	here  int     // how many have come
}

// match finds the operation that a part belongs to. With the last one of its
// parts it is matched; when nothing that it is joined to is missing any more,
// everything runs.
func (p *process) match(t *part) {
	c := t.comm.clique
	if t.what == sending || t.what == receiving {
		mine, others, way := c.sends, c.receives, [2]int{t.comm.rank, t.peer}
		if t.what == receiving {
			mine, others, way = c.receives, c.sends, [2]int{t.peer, t.comm.rank}
		}
		if len(others[way]) == 0 {
			mine[way] = append(mine[way], t)
			return
		}
		other := others[way][0]
		others[way] = others[way][1:]
		both := []*part{t, other}
		if t.what == receiving {
			both = []*part{other, t}
		}
		p.matched(&collective{what: sending, parts: both})
		return
	}
	number := t.comm.calls
	t.comm.calls++
	if number == c.first+len(c.open) {
		c.open = append(c.open, &collective{what: t.what, parts: make([]*part, len(c.comms))})
	}
	o := c.open[number-c.first]
	if o.what != t.what {
		return // ranks that call different things wait for each other for ever
	}
	o.parts[t.comm.rank] = t
	if o.here++; o.here == len(o.parts) {
		for len(c.open) > 0 && c.open[0].here == len(c.comms) {
			c.open, c.first = c.open[1:], c.first+1
		}
		p.matched(o)
	}
}

// matched joins the gangs of an operation whose parts have all come.
func (p *process) matched(o *collective) {
	first := o.parts[0].gang
	for _, t := range o.parts {
		t.gang.missing--
		t.gang.joined = append(t.gang.joined, first)
		first.joined = append(first.joined, t.gang)
	}
	first.matched = append(first.matched, o)
	var all []*gang
	if first.collectAll(&all) {
		p.perform(all)
	}
}

// collectAll gathers what a gang is joined to, and says that nothing is missing.
func (g *gang) collectAll(all *[]*gang) bool {
	if slices.Contains(*all, g) {
		return true
	}
	*all = append(*all, g)
	if g.missing > 0 {
		return false
	}
	for _, o := range g.joined {
		if !o.collectAll(all) {
			return false
		}
	}
	return true
}

// perform runs all operations of gangs at once and lets their streams go on.
func (p *process) perform(gangs []*gang) {
	var streams []*stream
	var seconds float64
	busy := map[[2]int]float64{} // seconds of each ordered pair, for sends
	hung := false
	for _, g := range gangs {
		streams = append(streams, g.parts[0].stream)
		hung = hung || g.parts[0].stream.hung
		for _, o := range g.matched {
			took, ended := p.carryOut(o)
			hung = hung || !ended
			if o.what == sending {
				way := [2]int{o.parts[0].comm.rank, o.parts[1].comm.rank}
				busy[way] += took
				took = busy[way]
			}
			seconds = max(seconds, took)
		}
	}
	for _, s := range streams {
		s.hung = s.hung || hung && p.pending == cuda.Success
	}
	p.takes(seconds, streams[0], streams[1:]...)
	for _, s := range streams {
		p.release(s)
	}
}

// carryOut moves an operation's data and says how long that takes. It never ends
// where one of its kernels hangs.
func (p *process) carryOut(o *collective) (seconds float64, ended bool) {
	routes := p.routesOf(o)
	for _, t := range o.parts {
		// A rank's kernel stores right into the memory of those that it reaches.
		k := &operation{stream: t.stream, sm: true, enabled: true}
		if t.send.allocation != nil {
			k.reads = []span{t.send}
		}
		if t.recv.allocation != nil {
			k.beside = []span{t.recv}
		}
		for _, r := range routes {
			if r.from == t.comm && r.direct {
				k.writes = append(k.writes, o.partOf(r.to).recv)
			}
		}
		if !p.begin(k) {
			return 0, p.pending != cuda.Success
		}
	}
	for i, bytes := range o.results() {
		if t := o.parts[i]; t.recv.allocation != nil {
			p.deliver(o, t, bytes, routes)
		}
	}
	return p.collectiveSeconds(o, routes), true
}

// partOf is the part of a rank that receives.
func (o *collective) partOf(c *communicator) *part {
	i := slices.IndexFunc(o.parts, func(t *part) bool { return t.comm == c && t.recv.allocation != nil })
	return o.parts[i]
}

// deliver stores what a rank receives, with what becomes of it on the routes
// that it comes by.
func (p *process) deliver(o *collective, t *part, bytes []byte, routes []route) {
	m := t.recv
	own := &operation{stream: t.stream, sm: true, writes: []span{m}}
	d := p.damageTo(own, &m, nil)
	for _, r := range routes {
		if r.to != t.comm || !r.direct {
			continue
		}
		from := o.parts[slices.IndexFunc(o.parts, func(t *part) bool { return t.comm == r.from })]
		k := &operation{stream: from.stream, sm: true, writes: []span{m}}
		one := p.damageTo(k, &m, nil)
		if p.mirrored(k, m) {
			one.arrives = 0
		}
		d.arrives = min(d.arrives, one.arrives)
		for _, f := range one.flips {
			if !slices.Contains(d.flips, f) {
				d.flips = append(d.flips, f)
			}
		}
	}
	p.store(own, m, d, func(b []byte) { copy(b, bytes) })
}

// results are what each part receives; nil for a part that receives nothing.
func (o *collective) results() [][]byte {
	out := make([][]byte, len(o.parts))
	switch o.what {
	case sending, receiving:
		out[1] = slices.Clone(o.parts[0].send.bytes())
	case allGather:
		var all []byte
		for _, t := range o.parts {
			all = append(all, t.send.bytes()...)
		}
		for i := range out {
			out[i] = all
		}
	case allReduce, reduceScatter:
		sum := slices.Clone(o.parts[0].send.bytes())
		for _, t := range o.parts[1:] {
			addElements(sum, t.send.bytes(), t.kind)
		}
		for i, t := range o.parts {
			out[i] = sum
			if o.what == reduceScatter {
				out[i] = sum[uint64(i)*t.recv.n:][:t.recv.n]
			}
		}
	}
	return out
}

// addElements adds b's elements of a type to a's.
func addElements(a, b []byte, kind cuda.NCCLType) {
	switch kind {
	case cuda.NCCLUint8:
		addEach[uint8](a, b)
	case cuda.NCCLInt32:
		addEach[uint32](a, b)
	case cuda.NCCLUint64:
		addEach[uint64](a, b)
	case cuda.NCCLFloat32:
		addEach[float32](a, b)
	}
}

// addEach is addElements for elements that are where their size asks for.
func addEach[T uint8 | uint32 | uint64 | float32](a, b []byte) {
	elements := func(b []byte) []T {
		var one T
		return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b))/unsafe.Sizeof(one))
	}
	to, from := elements(a), elements(b)
	for i, v := range from {
		to[i] += v
	}
}
