package sim

import (
	"hash/fnv"
	"math"
	"slices"
)

// item is something in a stream: work, an event's record, or a wait for one.
type item struct {
	stream  *stream
	seconds float64 // how long the work takes when nothing disturbs it
	record  *record
	wait    *record

	// from and to are the GPUs that the work's bytes leave and reach; host
	// where it is no GPU.
	from, to int
	// disturbed are the factors of slow faults that show only beside other
	// work.
	disturbed []disturbance
	begin     float64
	end       float64
}

const host = -1

type disturbance struct {
	when   string // bidirectional, concurrent
	factor float64
}

// resolve finds out when everything that is queued ran. Streams run at the
// same time, each in its order; whatever was queued since somebody waited last
// was queued at one moment, since the virtual host takes no time to queue. An
// event is recorded before anything can wait for it, so one pass in the order
// of queueing sees every time that it needs.
//
// Whether other work runs beside an item is judged by the times without any
// disturbance, which is right for streams that start together.
func (p *process) resolve() {
	if len(p.queue) == 0 {
		return
	}
	start := map[*stream]float64{}
	for _, it := range p.queue {
		start[it.stream] = it.stream.at
	}
	p.run()
	if slices.ContainsFunc(p.queue, func(it *item) bool { return len(it.disturbed) > 0 }) {
		for _, it := range p.queue {
			for _, d := range it.disturbed {
				if p.beside(it, d.when) {
					it.seconds /= d.factor
				}
			}
		}
		for s, at := range start {
			s.at = at
		}
		p.run()
	}
	p.queue = nil
}

// run gives every item its time.
func (p *process) run() {
	for _, it := range p.queue {
		s := it.stream
		s.at = max(s.at, p.now)
		switch {
		case it.record != nil:
			it.record.at, it.record.done = s.at, !it.record.hung
		case it.wait != nil:
			s.at = max(s.at, it.wait.at)
		default:
			it.begin = s.at
			s.at += it.seconds
			it.end = s.at
		}
	}
}

// beside says that other work of the queue overlaps an item: the opposite
// direction of its pair (bidirectional), or a pair with neither of its GPUs
// (concurrent).
func (p *process) beside(it *item, when string) bool {
	return slices.ContainsFunc(p.queue, func(other *item) bool {
		if other.record != nil || other.wait != nil || other.from == other.to || other.begin >= it.end || it.begin >= other.end {
			return false
		}
		if when == "bidirectional" {
			return other.from == it.to && other.to == it.from
		}
		return other.from != it.from && other.from != it.to && other.to != it.from && other.to != it.to
	})
}

// sampleKey is what samples are counted for: an ordered pair and what moves
// the bytes. other is host for copies to and from the host.
type sampleKey struct {
	driver, other int
	engine        engine
}

// warmUp is the sample number of work that no event encloses.
const warmUp = -1

// sample is the number, within the spec, of the sample that work on a stream
// belongs to.
func (p *process) sample(s *stream, key sampleKey) int {
	if !s.timed {
		return warmUp
	}
	if i, ok := s.groups[key]; ok {
		return i
	}
	if s.groups == nil {
		s.groups = map[sampleKey]int{}
	}
	i := p.samples[key]
	p.samples[key]++
	s.groups[key] = i
	return i
}

// noise is the factor on the bandwidth of a sample. It depends on the seed,
// the spec, the key and the sample's number alone.
func (p *process) noise(key sampleKey, sample int) float64 {
	if p.file.noise == 0 {
		return 1
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(p.spec)) // a hash takes everything
	x := h.Sum64() ^ p.file.seed*0x9e3779b97f4a7c15
	for _, v := range []int{key.driver, key.other, int(key.engine), sample} {
		x = mix(x ^ uint64(int64(v)))
	}
	return max(0.05, 1+p.file.noise*gauss(x))
}

// gauss turns a hash into a normal deviate, cut off at four standard
// deviations, by the transform of Box and Muller.
func gauss(x uint64) float64 {
	u := (float64(mix(x)>>11) + 0.5) / (1 << 53)
	v := float64(mix(x^0x5851f42d4c957f2d)>>11) / (1 << 53)
	g := math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
	return max(-4, min(4, g))
}

// mix is a finaliser that spreads every bit of its input over the output.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
