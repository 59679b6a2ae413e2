package sim

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/peerproof/peerproof/cuda/kernels"
)

// odds are how often each outcome of a litmus test is seen. An outcome is what
// the first load of the test saw and what the second did.
type odds struct {
	ordered, relaxed, reordered [4]float64
}

// litmusOdds are by test; index 1 is that the first saw the other's store, index
// 2 that the second did, 3 both. Message passing on one H200 (both kernels on
// it, 63 million rounds) gave 2.5 % of neither and 0.2 % of data without flag,
// and never the flag without the data; a pair is further apart. The outcome
// that order forbids comes about only where there is no order.
var litmusOdds = map[uint64]odds{
	kernels.LitmusMessagePassing: { // flag, data
		ordered:   [4]float64{0.30, 0, 0.02, 0.68},
		relaxed:   [4]float64{0.30, 0.004, 0.03, 0.666},
		reordered: [4]float64{0.30, 0.01, 0.03, 0.66},
	},
	kernels.LitmusStoreBuffering: { // side 0's, side 1's
		ordered: [4]float64{0, 0.46, 0.44, 0.1},
		relaxed: [4]float64{0.03, 0.45, 0.42, 0.1},
	},
	kernels.LitmusLoadBuffering: { // side 0's, side 1's
		ordered: [4]float64{0.2, 0.41, 0.39, 0},
		relaxed: [4]float64{0.2, 0.41, 0.3899, 0.0001},
	},
}

// draw is the outcome for a number from 0 up to but not including 1.
func draw(odds *[4]float64, x float64) (outcome uint32) {
	for i, o := range odds {
		if o == 0 {
			continue
		}
		outcome = uint32(i) // the last one takes what rounding leaves
		if x -= o; x < 0 {
			break
		}
	}
	return outcome
}

// litmusSide is what a side of litmus was launched with.
type litmusSide struct {
	*side
	test, role uint64
	relaxed    bool
	x, y       span
	rounds     uint64
	out        span
	o          *operation
}

func (l *launch) litmus() {
	a := l.args
	s := &litmusSide{test: a[0] & 255, role: a[0] >> 8 & 255, relaxed: a[0]>>16&255 != 0, rounds: a[3]}
	if s.rounds >= 1<<32 {
		l.illegal = true
		s.rounds = 0
	}
	bytes := max(4*s.rounds, 4)
	s.x, s.y, s.out = l.span(a[1], bytes), l.span(a[2], bytes), l.span(a[4], 4*s.rounds+4)
	s.side = &side{
		launch: l, kernel: "litmus", mine: l.span(a[5], 4*l.blocks), other: l.span(a[6], 4*l.blocks), deadline: float64(a[7]) * nanosecond,
	}
	stores, loads := s.stored(), s.loaded()
	s.o = &operation{reads: loads, writes: stores}
	if !l.begin(s.o) {
		return
	}
	s.together = func(partner *side) float64 { return s.play(partner.of) }
	s.lonely = s.sequential
	s.of = s
	l.p.meet(s.side)
}

// stored are the arrays that the side stores to, loaded those that it loads.
func (s *litmusSide) stored() []span {
	switch {
	case s.test == kernels.LitmusMessagePassing && s.role == 0:
		return []span{s.x, s.y}
	case s.test == kernels.LitmusMessagePassing:
		return nil
	case (s.test == kernels.LitmusStoreBuffering) == (s.role == 0):
		return []span{s.x}
	default:
		return []span{s.y}
	}
}

func (s *litmusSide) loaded() []span {
	switch {
	case s.test == kernels.LitmusMessagePassing && s.role == 0:
		return nil
	case s.test == kernels.LitmusMessagePassing:
		return []span{s.y, s.x}
	case (s.test == kernels.LitmusStoreBuffering) == (s.role == 0):
		return []span{s.y}
	default:
		return []span{s.x}
	}
}

// batch is how long the rounds from one meeting to the next take: the flags of
// both, and what threads stagger their rounds by.
func (s *litmusSide) batch() float64 {
	return latencies.host.flag + 2000*nanosecond + s.p.latency(s.gpu(), s.x.gpu).load
}

// play has the rounds of both sides happen; each side does its part of it.
func (s *litmusSide) play(partner *litmusSide) float64 {
	batches, batch := (s.rounds+s.threads-1)/s.threads, max(s.batch(), partner.batch())
	seconds := float64(batches) * batch * s.p.jitter(s.o)
	met := min(s.rounds, partner.rounds)
	if most := uint64(min(s.deadline, partner.deadline)/batch) * s.threads; met > most || s.rounds > partner.rounds {
		met, seconds = min(met, most), s.deadline
	}
	s.arrive(met)
	s.see(s.outcomes(partner))
	s.storeAll()
	s.finish(met)
	return seconds
}

// sequential is a side whose partner is not there, or not at the same time: it
// sees what is in memory.
func (s *litmusSide) sequential() {
	if s.rounds > 0 {
		s.arrive(0)
		all := make([][]byte, 0, 2)
		for _, m := range s.loaded() {
			all = append(all, m.seenBy(s.gpu()))
		}
		s.see(func(i uint64) (seen uint32) {
			for k, b := range all {
				seen |= binary.LittleEndian.Uint32(b[4*i:]) << k
			}
			return seen
		})
		s.storeAll()
	}
	s.finish(0)
	s.wait()
}

// arrive leaves the block's flags as they are after so many rounds that began
// with a meeting. A block that is not met stops at the first.
func (s *litmusSide) arrive(met uint64) {
	block := s.threads / s.blocks
	s.p.store(s.o, s.mine, damage{arrives: s.mine.n}, func(b []byte) {
		for i := range s.blocks {
			var steps uint64
			if base := i * block; base < s.rounds {
				steps = (s.rounds - base + s.threads - 1) / s.threads
				if have := (max(met, base) - base + s.threads - 1) / s.threads; have < steps {
					steps = have + 1
				}
			}
			binary.LittleEndian.PutUint32(b[4*i:], uint32(steps))
		}
	})
}

func (s *litmusSide) see(round func(i uint64) uint32) {
	s.p.store(s.o, span{s.out.allocation, s.out.off, 4 * s.rounds}, damage{arrives: 4 * s.rounds}, func(b []byte) {
		for i := range s.rounds {
			binary.LittleEndian.PutUint32(b[4*i:], round(i))
		}
	})
}

func (s *litmusSide) storeAll() {
	for _, m := range s.stored() {
		if s.rounds == 0 {
			continue
		}
		o := &operation{stream: s.stream, sm: true, writes: []span{m}}
		s.p.store(o, m, s.p.damageTo(o, &m, nil), func(b []byte) { repeat(b, []byte{1, 0, 0, 0}) })
	}
}

func (s *litmusSide) finish(met uint64) {
	last := span{s.out.allocation, s.out.off + 4*s.rounds, 4}
	s.p.store(s.o, last, damage{arrives: 4}, func(b []byte) {
		binary.LittleEndian.PutUint32(b, binary.LittleEndian.Uint32(b)+uint32(met))
	})
}

// outcomes is what a side sees of its partner's stores in each round. Both
// sides draw the same number for a round, and each takes its own part of it.
func (s *litmusSide) outcomes(partner *litmusSide) func(i uint64) uint32 {
	loads := s.loaded()
	if loads == nil || s.test != partner.test || s.role == partner.role {
		return func(uint64) uint32 { return 0 }
	}
	known, ok := litmusOdds[s.test]
	if !ok { // the kernel takes any other number for load buffering
		known = litmusOdds[kernels.LitmusLoadBuffering]
	}
	odds := &known.ordered
	switch {
	case s.relaxed || partner.relaxed:
		odds = &known.relaxed
	case s.test == kernels.LitmusMessagePassing && s.reordered(partner):
		odds = &known.reordered
	}
	views := make([]view, len(loads))
	for k, m := range loads {
		views[k] = newView(partner.between(s.launch, m), m.n)
	}
	seed := s.drawSeed()
	return func(i uint64) uint32 {
		outcome := draw(odds, float64(mix(seed^i)>>11)/(1<<53))
		if s.test == kernels.LitmusMessagePassing {
			return views[0].value(i, outcome&1) | views[1].value(i, outcome>>1)<<1
		}
		return views[0].value(i, outcome>>s.role&1)
	}
}

// reordered says that the partner's stores to this side's memory come there out
// of order.
func (s *litmusSide) reordered(partner *litmusSide) bool {
	from, to := partner.stream.context.gpu, s.stream.context.gpu
	return from != to && s.x.gpu == to.index && s.y.gpu == to.index && s.p.hasPairFault("reordered", from, to)
}

// drawSeed is the same for both sides, and differs from test to test, from pair
// to pair and from spec to spec.
func (s *litmusSide) drawSeed() uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.p.spec)) // a hash takes everything
	x := h.Sum64() ^ s.p.file.seed*golden ^ s.test<<56
	return mix(x ^ uint64(uint8(s.x.gpu))<<40 ^ uint64(uint8(s.y.gpu))<<48 ^ uint64(s.meeting))
}

// view is how the elements of an array come to a reader: so many are visible at
// all, and in some of them bits are wrong.
type view struct {
	visible uint64
	stores  map[uint64]uint32 // wrong bits of what is stored, by element
	loads   map[uint64]uint32
}

func newView(w sight, bytes uint64) view {
	v := view{visible: w.visible / 4}
	if w.visible == bytes {
		v.visible = ^uint64(0)
	}
	bits := func(flips []flip) map[uint64]uint32 {
		var m map[uint64]uint32
		for _, f := range flips {
			if m == nil {
				m = map[uint64]uint32{}
			}
			m[f.at/4] ^= 1 << (8*(f.at%4) + uint64(f.bit))
		}
		return m
	}
	v.stores, v.loads = bits(w.stores), bits(w.loads)
	return v
}

// value is what is loaded of element i where the order of things lets the store
// of 1 be seen (1) or not (0).
func (v *view) value(i uint64, seen uint32) uint32 {
	if i >= v.visible {
		seen = 0
	}
	if v.stores == nil && v.loads == nil {
		return seen
	}
	if seen == 1 {
		seen ^= v.stores[i]
	}
	return seen ^ v.loads[i]
}
