package sim

import (
	"math"
	"slices"
)

// race runs a queue in which work is slower beside other work: from one
// moment at which any work begins or ends to the next, since between those
// nothing changes.
type race struct {
	now   float64
	lanes map[*stream][]*item // what each stream has still to do
	order []*stream           // as they were first queued on
	begun map[*item]*progress
}

// progress is of work that runs or is about to.
type progress struct {
	begin float64
	left  float64 // seconds, undisturbed
}

func newRace(queue []*item) *race {
	r := &race{now: math.Inf(1), lanes: map[*stream][]*item{}, begun: map[*item]*progress{}}
	for _, it := range queue {
		for _, s := range append([]*stream{it.stream}, it.with...) {
			if r.lanes[s] == nil {
				r.order = append(r.order, s)
				r.now = min(r.now, s.at)
			}
			r.lanes[s] = append(r.lanes[s], it)
		}
	}
	return r
}

func (r *race) run() {
	for {
		for r.advance() {
		}
		next := math.Inf(1)
		running := r.running()
		speed := paces(running)
		for it, w := range r.begun {
			if w.begin > r.now {
				next = min(next, w.begin)
			} else {
				next = min(next, r.now+w.left/speed[it])
			}
		}
		if math.IsInf(next, 1) {
			return
		}
		for _, it := range running {
			w := r.begun[it]
			// What is left is compared as it was computed above, so that the
			// first to end is done whatever is lost in rounding.
			if end := r.now + w.left/speed[it]; end <= next {
				r.end(it, next)
			} else {
				w.left -= (next - r.now) * speed[it]
			}
		}
		r.now = next
	}
}

// advance takes every lane over what needs no time, and begins the work that
// all of its streams have come to. It says whether anything has changed.
func (r *race) advance() (changed bool) {
	for _, s := range r.order {
		for len(r.lanes[s]) > 0 {
			it := r.lanes[s][0]
			if it.wait != nil && !it.wait.done && !it.wait.hung {
				break // its record is in another lane
			}
			if !it.mark() {
				changed = r.begin(it) || changed
				break
			}
			r.lanes[s] = r.lanes[s][1:]
			changed = true
		}
	}
	return changed
}

func (r *race) begin(it *item) bool {
	if r.begun[it] != nil || slices.ContainsFunc(it.with, func(s *stream) bool { return r.lanes[s][0] != it }) || r.lanes[it.stream][0] != it {
		return false
	}
	r.begun[it] = &progress{begin: it.ready(), left: it.seconds}
	return true
}

func (r *race) end(it *item, at float64) {
	delete(r.begun, it)
	it.finish(at)
	for _, s := range append([]*stream{it.stream}, it.with...) {
		r.lanes[s] = r.lanes[s][1:]
	}
}

// running is the work that runs now, by streams.
func (r *race) running() []*item {
	var all []*item
	for _, s := range r.order {
		if len(r.lanes[s]) == 0 {
			continue
		}
		it := r.lanes[s][0]
		if w := r.begun[it]; it.stream == s && w != nil && w.begin <= r.now {
			all = append(all, it)
		}
	}
	return all
}

// paces are what is left of each item's undisturbed speed beside the others.
func paces(running []*item) map[*item]float64 {
	speed, ports := map[*item]float64{}, map[port]traffic{}
	for _, it := range running {
		speed[it] = 1
		for _, d := range it.disturbed {
			if slices.ContainsFunc(running, func(other *item) bool { return it.disturbedBy(other, d.when) }) {
				speed[it] *= d.factor
			}
		}
		for _, u := range it.uses {
			t := ports[u.port]
			ports[u.port] = traffic{t.users + 1, t.share + u.share*speed[it]}
		}
	}
	for _, it := range running {
		speed[it] *= it.squeeze(ports)
	}
	return speed
}

// disturbedBy says that other work is what disturbs an item: the opposite
// direction of its two ends (bidirectional), or any other two GPUs (concurrent).
func (it *item) disturbedBy(other *item, when string) bool {
	if other.from == other.to {
		return false
	}
	if when == "bidirectional" {
		return other.from == it.to && other.to == it.from
	}
	same := other.from == it.from && other.to == it.to || other.from == it.to && other.to == it.from
	return !same && other.from != host && other.to != host
}
