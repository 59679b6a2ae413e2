package sim

import "github.com/peerproof/peerproof/cuda"

// pool is a memory pool of a GPU. What is allocated from it is for those that
// it grants access to, whatever peer access is enabled.
type pool struct {
	gpu     *gpu
	granted map[int]int32 // shared with its allocations
}

func (p *process) memPoolCreate(handle *uintptr, props *cuda.MemPoolProps) cuda.Result {
	return p.started(func() cuda.Result {
		if props == nil || props.AllocType != cuda.MemAllocationPinned {
			return cuda.ErrInvalidValue
		}
		g, r := p.deviceOf(props.Location)
		if r == cuda.Success {
			*handle = p.newHandle(&pool{gpu: g, granted: map[int]int32{g.index: mayWrite}})
		}
		return r
	})
}

// memPoolDestroy leaves what was allocated from the pool until it is freed.
func (p *process) memPoolDestroy(handle uintptr) cuda.Result {
	return p.started(func() cuda.Result {
		if _, ok := object[*pool](p, handle); !ok {
			return cuda.ErrInvalidValue
		}
		delete(p.handles, handle)
		return cuda.Success
	})
}

func (p *process) memPoolSetAccess(handle uintptr, desc *cuda.MemAccessDesc, count uintptr) cuda.Result {
	return p.started(func() cuda.Result {
		o, ok := object[*pool](p, handle)
		if !ok {
			return cuda.ErrInvalidValue
		}
		rights, r := p.rights(o.gpu, desc, count)
		if r != cuda.Success {
			return r
		}
		if flags, named := rights[o.gpu.index]; named && flags != mayWrite {
			return cuda.ErrInvalidValue // the owner's access cannot be taken
		}
		for g, flags := range rights {
			o.granted[g] = flags
		}
		return cuda.Success
	})
}

// memAllocFromPoolAsync gives memory at once: the stream's order is kept by
// whoever uses it.
func (p *process) memAllocFromPoolAsync(ptr *cuda.DevicePtr, bytes, handle, onStream uintptr) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		o, ok := object[*pool](p, handle)
		s, isStream := p.stream(c, onStream)
		switch {
		case !isStream:
			return cuda.ErrInvalidHandle
		case !ok:
			return cuda.ErrInvalidValue
		case s.capture != nil:
			return s.capture.spoil()
		case o.gpu.lost:
			return cuda.ErrUnknown
		}
		part, r := o.gpu.memory.alloc(uint64(bytes), alignment, pooled)
		if r == cuda.Success {
			part.granted = o.granted
			*ptr = cuda.DevicePtr(part.at)
		}
		return r
	})
}

// memFreeAsync frees memory of a pool when its stream comes to that.
func (p *process) memFreeAsync(ptr cuda.DevicePtr, onStream uintptr) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		m, ok := p.find(ptr, 1)
		s, isStream := p.stream(c, onStream)
		switch {
		case !isStream:
			return cuda.ErrInvalidHandle
		case !ok || m.gpu == host || m.off != 0 || m.origin != pooled:
			return cuda.ErrInvalidValue
		case s.capture != nil:
			return s.capture.spoil()
		}
		p.do(s, func(*stream) {
			if !m.gone {
				p.gpus[m.gpu].memory.free(m.allocation)
				p.forget(m.allocation)
			}
		})
		return cuda.Success
	})
}
