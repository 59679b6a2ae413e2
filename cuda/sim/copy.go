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
		if r != cuda.Success {
			return r
		}
		for _, end := range []span{dst, src} {
			if end.gpu != host && p.gpus[end.gpu].lost || s.context.gpu.lost {
				return cuda.ErrUnknown
			}
		}
		o := &operation{stream: s, reads: []span{src}, writes: []span{dst}}
		o.staged = p.isStaged(s.context, dst, src)
		if p.begin(o) {
			p.move(o, dst, src)
		}
		p.timeCopy(o, dst, src)
		return cuda.Success
	})
}

// isStaged says that a copy engine has no direct way to memory of another GPU
// that it works on: access was not enabled, or there is no path.
func (p *process) isStaged(c *context, ends ...span) bool {
	for _, end := range ends {
		if end.gpu == host || end.gpu == c.gpu.index {
			continue
		}
		if owner := p.gpus[end.gpu]; !p.hasAccess(c, owner) || !p.reaches(c.gpu, owner) {
			return true
		}
	}
	return false
}

// timeCopy queues the time that a copy takes.
func (p *process) timeCopy(o *operation, dst, src span) {
	driver := o.stream.context.gpu
	var rate float64
	switch {
	case dst.gpu == host && src.gpu == host:
		rate = p.hostRate(driver)
	case dst.gpu == host:
		rate = p.hostRate(p.gpus[src.gpu])
	case src.gpu == host:
		rate = p.hostRate(p.gpus[dst.gpu])
	case dst.gpu == src.gpu && dst.gpu == driver.index:
		rate = p.localRate() / 2 // read once and written once
	default:
		a, b := driver, p.gpus[dst.gpu]
		if a == b {
			b = p.gpus[src.gpu]
		}
		rate = p.directRate(a, b)
		if o.staged {
			rate = p.stagedRate(a, b)
		}
	}
	if o.sm {
		rate *= p.file.efficiency.sm
	}
	p.timing(o, src.gpu, dst.gpu, src.n, rate)
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

func (p *process) memcpyPeerAsync(dst cuda.DevicePtr, dstCtx uintptr, src cuda.DevicePtr, srcCtx uintptr, bytes, stream uintptr) cuda.Result {
	return p.copyOn(stream, bytes, func(*context) (span, span, cuda.Result) {
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

func (p *process) memsetD8Async(dst cuda.DevicePtr, value uint8, bytes, stream uintptr) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		s, ok := p.stream(c, stream)
		to, known := p.find(dst, uint64(bytes))
		switch {
		case !ok:
			return cuda.ErrInvalidHandle
		case bytes == 0:
			return cuda.Success
		case !known:
			return cuda.ErrInvalidValue
		case to.gpu != host && p.gpus[to.gpu].lost || s.context.gpu.lost:
			return cuda.ErrUnknown
		case to.gpu != host && !p.mayTouch(s.context, p.gpus[to.gpu]):
			return cuda.ErrInvalidValue
		}
		o := &operation{stream: s, writes: []span{to}}
		if p.begin(o) {
			p.store(to, p.damageTo(o, &to, nil), func(b []byte) {
				b[0] = value
				for n := 1; n < len(b); n *= 2 {
					copy(b[n:], b[:n])
				}
			})
		}
		p.timeStore(o, to)
		return cuda.Success
	})
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
	p.timing(o, driver.index, m.gpu, m.n, rate)
}
