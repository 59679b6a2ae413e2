package sim

import (
	"hash/fnv"
	"math"
	"slices"
)

// item is something in a stream: work, an event's record, or a wait for one.
type item struct {
	stream *stream
	// with are further streams that the work keeps busy: it begins when all of
	// them have come to it.
	with    []*stream
	seconds float64 // how long the work takes when nothing disturbs it
	record  *record
	wait    *record

	// from and to are the GPUs that the work's bytes leave and reach; host
	// where it is no GPU.
	from, to int
	// disturbed are the factors of slow faults that show only beside other
	// work.
	disturbed []disturbance
	uses      []use
}

const host = -1

type disturbance struct {
	when   string // bidirectional, concurrent
	factor float64
}

// takes queues work on streams that moves nothing between GPUs.
func (p *process) takes(seconds float64, s *stream, with ...*stream) {
	p.queue = append(p.queue, &item{stream: s, with: with, seconds: seconds, from: host, to: host})
}

// resolve finds out when everything that is queued ran. Streams run at the
// same time, each in its order; whatever was queued since somebody waited last
// was queued at one moment, since the virtual host takes no time to queue.
func (p *process) resolve() {
	queue := p.queue
	p.queue = nil
	for _, it := range queue {
		it.stream.at = max(it.stream.at, p.now)
		for _, s := range it.with {
			s.at = max(s.at, p.now)
		}
	}
	if slices.ContainsFunc(queue, func(it *item) bool { return len(it.disturbed) > 0 }) || crowded(queue) {
		newRace(queue).run()
		return
	}
	// An event is recorded before anything can wait for it, so one pass in the
	// order of queueing sees every time that it needs.
	for _, it := range queue {
		if !it.mark() {
			it.finish(it.ready() + it.seconds)
		}
	}
}

// mark does what takes no time, and says whether the item is of that kind.
func (it *item) mark() bool {
	switch {
	case it.record != nil:
		it.record.at, it.record.done = it.stream.at, !it.record.hung
	case it.wait != nil:
		it.stream.at = max(it.stream.at, it.wait.at)
	default:
		return false
	}
	return true
}

// ready is when the last of the item's streams has come to it.
func (it *item) ready() float64 {
	at := it.stream.at
	for _, s := range it.with {
		at = max(at, s.at)
	}
	return at
}

// finish takes all streams of an item to its end.
func (it *item) finish(at float64) {
	it.stream.at = at
	for _, s := range it.with {
		s.at = at
	}
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
