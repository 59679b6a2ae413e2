package sim

import (
	"slices"
	"time"

	"github.com/peerproof/peerproof/cuda"
)

// side is a kernel that needs another one to run beside it: the two find each
// other by the flags in host memory that they meet through. The first to be
// launched holds its stream until the second is, then both run at once.
type side struct {
	*launch
	kernel      string
	of          *litmusSide // what more there is to a side of litmus
	mine, other span        // flags of a uint32 for each block
	deadline    float64
	// together has the side's part of what happens beside its partner, and
	// lonely what it does without, by its deadline.
	together func(partner *side) (seconds float64)
	lonely   func()
	meeting  int // its number, in this spec, between the two GPUs
}

// meetings is what they are counted as in samples, beside all engines.
const meetings engine = 1 << 7

// patienceLimit bounds for how long the host waits, in real time, for the
// second of two threads to launch its kernel.
const patienceLimit = time.Second

func (s *side) patience() time.Duration {
	return min(patienceLimit, time.Duration(min(s.deadline, patienceLimit.Seconds())*float64(time.Second)))
}

// meet runs a side with its partner, or holds its stream until that is there.
func (p *process) meet(s *side) {
	i := slices.IndexFunc(p.waiting, func(o *side) bool {
		return o.kernel == s.kernel && o.mine.at+o.mine.off == s.other.at+s.other.off && o.other.at+o.other.off == s.mine.at+s.mine.off
	})
	if i < 0 {
		p.waiting = append(p.waiting, s)
		p.hold(s.stream, s)
		return
	}
	partner := p.waiting[i]
	p.waiting = slices.Delete(p.waiting, i, i+1)
	p.resolve()
	apart := max(s.stream.at, p.now) - max(partner.stream.at, p.now)
	if -apart > s.deadline || apart > partner.deadline || s.forbidden() || partner.forbidden() {
		// The one was over before the other began.
		partner.lonely()
		p.release(partner.stream)
		s.lonely()
		return
	}
	key := sampleKey{driver: min(s.gpu(), partner.gpu()), other: max(s.gpu(), partner.gpu()), engine: meetings}
	s.meeting, partner.meeting = p.samples[key], p.samples[key]
	p.samples[key]++
	seconds := max(partner.together(s), s.together(partner))
	p.takes(seconds, partner.stream, s.stream)
	p.release(partner.stream)
}

// alone is what happens to a side whose partner is not launched.
func (s *side) alone() {
	s.p.waiting = slices.DeleteFunc(s.p.waiting, func(o *side) bool { return o == s })
	if s.p.pending == cuda.Success && !s.forbidden() {
		s.lonely()
	}
	s.p.release(s.stream)
}

// forbidden says that memory which the side needs is gone since it was launched.
func (s *side) forbidden() bool {
	if !slices.ContainsFunc(s.beside, func(m span) bool { return m.gone }) {
		return false
	}
	s.p.fault(s.stream.context.gpu)
	return true
}

// wait queues the time that a side spends alone.
func (s *side) wait() { s.p.takes(s.deadline, s.stream) }

// put32 stores a uint32 for the GPU, with what becomes of it on the way.
func (l *launch) put32(m span, value uint32) {
	o := &operation{stream: l.stream, sm: true, writes: []span{m}}
	l.p.store(o, m, l.p.damageTo(o, &m, nil), func(b []byte) {
		copy(b, []byte{byte(value), byte(value >> 8), byte(value >> 16), byte(value >> 24)})
	})
}

// get32 is a uint32 as the GPU sees it.
func (l *launch) get32(m span) uint32 {
	b := m.seenBy(l.gpu())
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// sight is what becomes of one side's stores to memory and of the other's loads
// of it, while both run.
type sight struct {
	visible       uint64 // so many bytes, from the first on, are seen at all
	stores, loads []flip
}

// between is how a reader sees what a writer stores to memory while both run.
func (l *launch) between(reader *launch, m span) sight {
	w := sight{visible: m.n}
	if m.gpu == host {
		return w
	}
	from, to, owner := l.stream.context.gpu, reader.stream.context.gpu, l.p.gpus[m.gpu]
	stores := l.p.damageTo(&operation{stream: l.stream, sm: true, writes: []span{m}}, &m, nil)
	loads := l.p.damageTo(&operation{stream: reader.stream, sm: true, reads: []span{m}}, nil, &m)
	w.stores, w.loads, w.visible = stores.flips, loads.flips, min(stores.arrives, loads.arrives)
	if from == to {
		return w
	}
	late := owner != from && (l.p.hasPairFault("invisible-until-exit", from, owner) || l.p.hasPairFault("private-mirror", from, owner))
	if late || l.p.hasPairFault("no-progress", to, from) {
		w.visible = 0
	}
	return w
}

// clean says that all bytes are seen as they were stored.
func (w sight) clean(n uint64) bool { return w.visible == n && w.stores == nil && w.loads == nil }

func (l *launch) pingpong() {
	a := l.args
	s := &side{
		launch: l, kernel: "pingpong", mine: l.span(a[6], 4), other: l.span(a[7], 4), deadline: float64(a[4]) * nanosecond,
	}
	store, load, result := l.span(a[0], 4), l.span(a[1], 4), l.span(a[5], 24)
	rounds, first := a[2], a[3] != 0
	o := &operation{reads: []span{load}, writes: []span{store}}
	if !l.begin(o) {
		return
	}
	report := func(done uint64, seconds float64, met uint64) {
		l.result(o, result, func(b []byte) {
			put(b, done)
			put(b[8:], uint64(seconds/nanosecond))
			put(b[16:], met)
		})
	}
	s.together = func(partner *side) float64 {
		r := newRally(s, partner)
		done, stored := r.played(rounds, first)
		if stored > 0 {
			l.put32(store, uint32(stored))
		}
		seconds := float64(done) * r.round * l.p.jitter(o)
		if done < rounds || seconds > s.deadline {
			seconds = s.deadline
		}
		l.put32(s.mine, 1)
		report(done, seconds, 1)
		return seconds
	}
	s.lonely = func() {
		l.put32(s.mine, 1)
		var met uint64
		if l.get32(s.other) >= 1 { // the other was there before, and is gone
			met = 1
			if first && rounds > 0 {
				l.put32(store, 1)
			}
		}
		report(0, s.deadline*float64(met), met)
		s.wait()
	}
	l.p.meet(s)
}

// rally is how two sides of pingpong see each other's flags.
type rally struct {
	there, back bool // the partner sees this side's, and this side the partner's
	round       float64
	rounds      uint64 // the partner's
	first       bool   // the partner is
	most        uint64 // rounds that the time of both allows
}

func newRally(s, partner *side) rally {
	mine, theirs := s.args, partner.args
	r := rally{rounds: theirs[2], first: theirs[3] != 0}
	leg := func(from, to *side, stored, loaded uint64) (seen bool, seconds float64) {
		m, ok := s.p.find(cuda.DevicePtr(stored), 4)
		if !ok {
			return false, 0
		}
		seconds = max(s.p.latency(from.gpu(), m.gpu).flag, s.p.latency(to.gpu(), m.gpu).flag) / 2
		return stored == loaded && from.between(to.launch, m).clean(4), seconds
	}
	var out, in float64
	r.there, out = leg(s, partner, mine[0], theirs[1])
	r.back, in = leg(partner, s, theirs[0], mine[1])
	r.round = out + in
	r.most = uint64(min(s.deadline, partner.deadline) / r.round)
	return r
}

// played is how many rounds a side completes, and the last number that it
// stores.
func (r rally) played(rounds uint64, first bool) (done, stored uint64) {
	both := min(rounds, r.rounds, r.most)
	switch {
	case first && !r.back || first && !r.first && !r.there:
		done = 0 // its first number is not answered
	case first:
		done = both
	case !r.back || !r.first:
		done = 0 // it never has a number to answer
	case !r.there:
		done = min(both, 1) // its first answer is never seen
	default:
		done = both
	}
	if stored = done; first {
		stored = min(done+1, rounds)
	}
	return done, stored
}
