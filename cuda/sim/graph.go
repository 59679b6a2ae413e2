package sim

import "github.com/peerproof/peerproof/cuda"

// Results of captures, from cuda.h.
const (
	errIllegalState       cuda.Result = 401
	errCaptureUnsupported cuda.Result = 900
	errCaptureInvalidated cuda.Result = 901
	errCaptureIsolation   cuda.Result = 905
)

// graph is work that was captured from one stream; it has its effect, and meets
// the faults of that moment, each time that it is launched.
type graph struct {
	context *context
	work    []func(*stream)
	spoilt  bool // by a call that cannot be captured
}

// graphExec is a graph that can be launched.
type graphExec struct {
	context *context
	work    []func(*stream)
}

func (g *graph) owner() *context     { return g.context }
func (g *graphExec) owner() *context { return g.context }

// spoil is the answer to a call that cannot be captured: the capture is over.
func (g *graph) spoil() cuda.Result {
	g.spoilt = true
	return errCaptureUnsupported
}

// crossed is the answer to a stream that waits for an event in the graph. The
// stream that is captured has it before it; no other is taken in.
func (g *graph) crossed(s *stream) cuda.Result {
	if s.capture == g {
		return cuda.Success
	}
	g.spoilt = true
	return errCaptureIsolation
}

func (p *process) streamBeginCapture(handle uintptr, mode uint32) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		s, ok := p.stream(c, handle)
		switch {
		case !ok:
			return cuda.ErrInvalidHandle
		case mode > 2: // CU_STREAM_CAPTURE_MODE_RELAXED
			return cuda.ErrInvalidValue
		case handle == 0:
			return errCaptureUnsupported
		case s.capture != nil:
			return errIllegalState
		}
		s.capture = &graph{context: s.context}
		return cuda.Success
	})
}

func (p *process) streamEndCapture(handle uintptr, out *uintptr) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		s, ok := p.stream(c, handle)
		switch {
		case !ok:
			return cuda.ErrInvalidHandle
		case s.capture == nil:
			return errIllegalState
		}
		g := s.capture
		s.capture, *out = nil, 0
		if g.spoilt {
			return errCaptureInvalidated
		}
		*out = p.newHandle(g)
		return cuda.Success
	})
}

func (p *process) graphInstantiate(exec *uintptr, handle uintptr, flags uint64) cuda.Result {
	return p.inContext(func(*context) cuda.Result {
		g, ok := object[*graph](p, handle)
		switch {
		case !ok:
			return cuda.ErrInvalidHandle
		case flags != 0:
			return cuda.ErrInvalidValue
		}
		*exec = p.newHandle(&graphExec{g.context, g.work})
		return cuda.Success
	})
}

// graphLaunch queues a graph's work on a stream of the context that it was
// captured in.
func (p *process) graphLaunch(exec, handle uintptr) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		g, ok := object[*graphExec](p, exec)
		s, isStream := p.stream(c, handle)
		if !ok || !isStream || s.context != g.context {
			return cuda.ErrInvalidHandle
		}
		for _, work := range g.work {
			p.do(s, work)
		}
		return cuda.Success
	})
}

func (p *process) graphExecDestroy(handle uintptr) cuda.Result { return drop[*graphExec](p, handle) }

func (p *process) graphDestroy(handle uintptr) cuda.Result { return drop[*graph](p, handle) }

// drop forgets an object of a kind.
func drop[T any](p *process, handle uintptr) cuda.Result {
	return p.inContext(func(*context) cuda.Result {
		if _, ok := object[T](p, handle); !ok {
			return cuda.ErrInvalidHandle
		}
		delete(p.handles, handle)
		return cuda.Success
	})
}
