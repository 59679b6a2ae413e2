package sim

import (
	"slices"
	"time"

	"github.com/peerproof/peerproof/cuda"
)

// stream is a queue of work. Work takes effect on memory when it is queued, in
// program order, unless the stream is held; when it ran in virtual time is found
// out when somebody waits.
type stream struct {
	context *context
	at      float64 // virtual time at which all that is resolved has run
	hung    bool    // work that never ends is in it
	// later is what waits for party, or for a record of another stream.
	later     []func(*stream)
	party     party
	heldSince time.Time
	awaits    *record
	capture   *graph // what is queued goes there
	// busy, until somebody has waited for it: polled says that a query has
	// seen it busy, touched which GPUs its work keeps busy.
	busy    bool
	polled  bool
	touched []*gpu
	// timed, from the first event on since somebody waited or a gate was
	// queued: what is queued now is measured, what came before was warm-up.
	timed  bool
	groups map[sampleKey]int // sample numbers of the work since the last event
}

// event is a mark in a stream.
type event struct {
	context *context
	timing  bool
	last    *record // nil until recorded
}

// record is one recording of an event.
type record struct {
	stream  *stream
	capture *graph    // recorded into that, and nowhere else
	placed  bool      // the stream has come to it
	waiting []*stream // held until it has
	done    bool      // at is known
	hung    bool      // never reached
	at      float64   // virtual time
}

func (s *stream) owner() *context { return s.context }
func (e *event) owner() *context  { return e.context }

// stream finds a stream by its handle; 0 is the context's default stream.
func (p *process) stream(c *context, handle uintptr) (*stream, bool) {
	if handle == 0 {
		return c.null, true
	}
	return object[*stream](p, handle)
}

// settle is what happens when the host waits for streams: virtual time goes on
// to their end, and what a kernel ran into comes to light, for good.
func (p *process) settle(streams ...*stream) cuda.Result {
	for _, s := range streams {
		p.unhold(s)
		if s.hung {
			p.block()
		}
	}
	p.resolve()
	for _, s := range streams {
		p.now = max(p.now, s.at)
		s.drained()
	}
	return p.surface()
}

// surface makes an error that a kernel left behind the answer of every call.
func (p *process) surface() cuda.Result {
	if p.pending != cuda.Success {
		p.sticky = p.pending
	}
	return p.sticky
}

func (s *stream) drained() {
	s.busy, s.polled, s.touched, s.timed = false, false, nil, false
	clear(s.groups)
}

// nextGroup ends a sample.
func (s *stream) nextGroup() {
	s.timed = true
	clear(s.groups)
}

func (p *process) streamCreate(handle *uintptr, flags uint32) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		if flags > 1 { // CU_STREAM_NON_BLOCKING is all there is
			return cuda.ErrInvalidValue
		}
		s := &stream{context: c}
		c.streams = append(c.streams, s)
		*handle = p.newHandle(s)
		return cuda.Success
	})
}

// streamDestroy returns at once; the work goes on.
func (p *process) streamDestroy(handle uintptr) cuda.Result {
	return p.inContext(func(*context) cuda.Result {
		s, ok := object[*stream](p, handle)
		if !ok {
			return cuda.ErrInvalidHandle
		}
		delete(p.handles, handle)
		if !s.hung && !s.held() { // a context with a hung stream stays hung
			s.context.streams = slices.DeleteFunc(s.context.streams, func(t *stream) bool { return t == s })
		}
		return cuda.Success
	})
}

func (p *process) streamSynchronize(handle uintptr) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		s, ok := p.stream(c, handle)
		switch {
		case !ok:
			return cuda.ErrInvalidHandle
		case s.capture != nil:
			return s.capture.spoil()
		}
		return p.settle(s)
	})
}

// streamQuery finds work not ready once, so that a caller that polls sees it
// in flight, and ready after that.
func (p *process) streamQuery(handle uintptr) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		s, ok := p.stream(c, handle)
		switch {
		case !ok:
			return cuda.ErrInvalidHandle
		case s.capture != nil:
			return s.capture.spoil()
		case s.hung, s.held() && !p.impatient(s.cause()):
			return cuda.ErrNotReady
		case s.busy && !s.polled:
			s.polled = true
			return cuda.ErrNotReady
		}
		return p.settle(s)
	})
}

func (p *process) streamWaitEvent(handle, ev uintptr, flags uint32) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		s, ok := p.stream(c, handle)
		e, isEvent := object[*event](p, ev)
		switch {
		case !ok || !isEvent:
			return cuda.ErrInvalidHandle
		case flags > 1:
			return cuda.ErrInvalidValue
		case e.last == nil:
			return cuda.Success // there is nothing to wait for
		case e.last.capture != nil:
			return e.last.capture.crossed(s)
		case s.capture != nil:
			return s.capture.spoil() // it would wait for what is not in the graph
		}
		last := e.last
		p.do(s, func(s *stream) {
			if !last.placed {
				// It is asked again when the other stream comes to it.
				s.awaits, last.waiting = last, append(last.waiting, s)
				s.later = append([]func(*stream){func(s *stream) { p.await(s, last) }}, s.later...)
				return
			}
			p.await(s, last)
		})
		return cuda.Success
	})
}

func (p *process) eventCreate(handle *uintptr, flags uint32) cuda.Result {
	const blockingSync, disableTiming = 1, 2 // CU_EVENT_*
	return p.inContext(func(c *context) cuda.Result {
		if flags&^(blockingSync|disableTiming) != 0 {
			return cuda.ErrInvalidValue
		}
		*handle = p.newHandle(&event{context: c, timing: flags&disableTiming == 0})
		return cuda.Success
	})
}

func (p *process) eventDestroy(handle uintptr) cuda.Result {
	return p.inContext(func(*context) cuda.Result {
		if _, ok := object[*event](p, handle); !ok {
			return cuda.ErrInvalidHandle
		}
		delete(p.handles, handle)
		return cuda.Success
	})
}

func (p *process) eventRecord(ev, handle uintptr) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		s, ok := p.stream(c, handle)
		e, isEvent := object[*event](p, ev)
		if !ok || !isEvent || e.context != s.context {
			return cuda.ErrInvalidHandle
		}
		last := &record{stream: s, capture: s.capture}
		e.last = last
		if s.capture != nil {
			return cuda.Success // it says where in the graph, and never happens
		}
		p.do(s, func(s *stream) {
			if e.timing {
				s.nextGroup()
			}
			p.place(last)
		})
		return cuda.Success
	})
}

// await queues a stream's wait for an event.
func (p *process) await(s *stream, r *record) {
	s.hung = s.hung || r.hung
	s.nextGroup()
	p.queue = append(p.queue, &item{stream: s, wait: r})
}

func (p *process) eventSynchronize(ev uintptr) cuda.Result {
	return p.inContext(func(*context) cuda.Result {
		e, ok := object[*event](p, ev)
		switch {
		case !ok:
			return cuda.ErrInvalidHandle
		case e.last == nil:
			return cuda.Success
		case e.last.capture != nil:
			return e.last.capture.spoil()
		}
		if !e.last.placed {
			p.unhold(e.last.stream)
		}
		if e.last.hung {
			p.block()
		}
		p.resolve()
		p.now = max(p.now, e.last.at)
		if e.last.stream.at <= e.last.at && !e.last.stream.hung {
			e.last.stream.drained()
		}
		return p.surface()
	})
}

func (p *process) eventElapsedTime(milliseconds *float32, start, end uintptr) cuda.Result {
	return p.inContext(func(*context) cuda.Result {
		a, okA := object[*event](p, start)
		b, okB := object[*event](p, end)
		switch {
		case !okA || !okB || !a.timing || !b.timing || a.last == nil || b.last == nil || a.context != b.context:
			return cuda.ErrInvalidHandle
		case !a.last.done || !b.last.done:
			return cuda.ErrNotReady
		}
		*milliseconds = float32((b.last.at - a.last.at) * 1e3)
		return cuda.Success
	})
}
