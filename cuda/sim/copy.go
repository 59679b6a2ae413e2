package sim

import (
	"unsafe"

	"github.com/peerproof/peerproof/cuda"
)

// copyOn runs a copy on a stream of the current context: the GPU of the stream
// drives it.
func (p *process) copyOn(handle uintptr, bytes uintptr, ends func(*context) (dst, src span, r cuda.Result)) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		s, ok := p.stream(c, handle)
		if !ok {
			return cuda.ErrInvalidHandle
		}
		if bytes == 0 {
			return cuda.Success
		}
		dst, src, r := ends(c)
		if r == cuda.Success {
			r = p.reachable(s, dst, src)
		}
		if r == cuda.Success {
			p.do(s, func(s *stream) { p.copyRows(s, []row{{dst, src}}) })
		}
		return r
	})
}

// reachable refuses work of a stream for GPUs that are lost.
func (p *process) reachable(s *stream, ends ...span) cuda.Result {
	for _, end := range ends {
		if end.gpu != host && p.gpus[end.gpu].lost {
			return cuda.ErrUnknown
		}
	}
	if s.context.gpu.lost {
		return cuda.ErrUnknown
	}
	return cuda.Success
}

// row is one contiguous part of a copy.
type row struct{ dst, src span }

// copyRows is one copy of rows, all between the same two allocations.
func (p *process) copyRows(s *stream, rows []row) {
	o := &operation{stream: s}
	first := rows[0]
	var bytes uint64
	for _, r := range rows {
		o.reads, o.writes = append(o.reads, r.src), append(o.writes, r.dst)
		bytes += r.src.n
	}
	o.staged = !p.isDirect(s.context, first.dst.allocation) || !p.isDirect(s.context, first.src.allocation)
	if p.begin(o) {
		for _, r := range rows {
			p.move(o, r.dst, r.src)
		}
	}
	p.timeCopy(o, first.dst.gpu, first.src.gpu, bytes)
}

// timeCopy queues the time that a copy between the memory of two GPUs, or the
// host's, takes.
func (p *process) timeCopy(o *operation, dst, src int, bytes uint64) {
	driver := o.stream.context.gpu
	var rate float64
	switch {
	case dst == host && src == host:
		rate = p.hostRate(driver)
	case dst == host:
		rate = p.hostRate(p.gpus[src])
	case src == host:
		rate = p.hostRate(p.gpus[dst])
	case dst == src && dst == driver.index:
		rate = p.localRate() / 2 // read once and written once
	default:
		a, b := driver, p.gpus[dst]
		if a == b {
			b = p.gpus[src]
		}
		rate = p.directRate(a, b)
		if o.staged {
			rate = p.stagedRate(a, b)
		}
	}
	if o.sm {
		rate *= p.file.efficiency.sm
	}
	var least float64
	if bytes < pipelined && !o.sm {
		least = p.begins(o, dst, src)
	}
	p.timing(o, src, dst, bytes, rate, least)
}

func (p *process) memcpyHtoDAsync(dst cuda.DevicePtr, src unsafe.Pointer, bytes, stream uintptr) cuda.Result {
	return p.copyOn(stream, bytes, func(*context) (span, span, cuda.Result) {
		to, ok := p.find(dst, uint64(bytes))
		from, fromOK := p.hostSpan(src, uint64(bytes))
		return to, from, valid(ok && fromOK)
	})
}

func (p *process) memcpyDtoHAsync(dst unsafe.Pointer, src cuda.DevicePtr, bytes, stream uintptr) cuda.Result {
	return p.copyOn(stream, bytes, func(*context) (span, span, cuda.Result) {
		to, ok := p.hostSpan(dst, uint64(bytes))
		from, fromOK := p.find(src, uint64(bytes))
		return to, from, valid(ok && fromOK)
	})
}

// memcpyDtoDAsync copies within the one address space. Between two GPUs it is
// memcpyPeerAsync.
func (p *process) memcpyDtoDAsync(dst, src cuda.DevicePtr, bytes, stream uintptr) cuda.Result {
	return p.copyOn(stream, bytes, func(*context) (span, span, cuda.Result) {
		to, ok := p.find(dst, uint64(bytes))
		from, fromOK := p.find(src, uint64(bytes))
		return to, from, valid(ok && fromOK)
	})
}

// memcpyPeerAsync cannot be captured: a real driver (580.159.04) answers 900.
func (p *process) memcpyPeerAsync(dst cuda.DevicePtr, dstCtx uintptr, src cuda.DevicePtr, srcCtx uintptr, bytes, stream uintptr) cuda.Result {
	return p.copyOn(stream, bytes, func(c *context) (span, span, cuda.Result) {
		if s, ok := p.stream(c, stream); ok && s.capture != nil {
			return span{}, span{}, s.capture.spoil()
		}
		to, ok := p.find(dst, uint64(bytes))
		from, fromOK := p.find(src, uint64(bytes))
		toCtx, toOK := object[*context](p, dstCtx)
		fromCtx, fromCtxOK := object[*context](p, srcCtx)
		switch {
		case !toOK || !fromCtxOK || toCtx.dead || fromCtx.dead:
			return to, from, cuda.ErrInvalidContext
		case ok && to.gpu != toCtx.gpu.index, fromOK && from.gpu != fromCtx.gpu.index:
			return to, from, cuda.ErrInvalidValue
		}
		return to, from, valid(ok && fromOK)
	})
}

// valid is the driver's answer to addresses that it can look up before it
// queues anything.
func valid(known bool) cuda.Result {
	if !known {
		return cuda.ErrInvalidValue
	}
	return cuda.Success
}

func (p *process) memsetD8Async(dst cuda.DevicePtr, value uint8, bytes, handle uintptr) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		s, ok := p.stream(c, handle)
		to, known := p.find(dst, uint64(bytes))
		switch {
		case !ok:
			return cuda.ErrInvalidHandle
		case bytes == 0:
			return cuda.Success
		case !known:
			return cuda.ErrInvalidValue
		}
		if r := p.reachable(s, to); r != cuda.Success {
			return r
		}
		if to.gpu != host && to.granted == nil && !p.mayTouch(s.context, p.gpus[to.gpu]) {
			return cuda.ErrInvalidValue
		}
		p.do(s, func(s *stream) {
			o := &operation{stream: s, writes: []span{to}}
			if p.begin(o) {
				p.store(o, to, p.damageTo(o, &to, nil), func(b []byte) { repeat(b, []byte{value}) })
			}
			p.timeStore(o, to)
		})
		return cuda.Success
	})
}

// repeat writes a unit over and over.
func repeat(b, unit []byte) {
	for n := copy(b, unit); n > 0 && n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// timeStore queues the time of an operation that only writes, or only reads,
// one range.
func (p *process) timeStore(o *operation, m span) {
	driver := o.stream.context.gpu
	var rate float64
	switch m.gpu {
	case host:
		rate = p.hostRate(driver)
	case driver.index:
		rate = p.localRate()
	default:
		rate = p.directRate(driver, p.gpus[m.gpu])
	}
	if o.sm {
		rate *= p.file.efficiency.sm
	}
	from, to := driver.index, m.gpu
	if len(o.writes) == 0 { // it loads
		from, to = to, from
	}
	p.timing(o, from, to, m.n, rate, 0)
}
