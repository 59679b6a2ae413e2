package sim

import (
	"slices"
	"unsafe"

	"github.com/peerproof/peerproof/cuda"
)

// granularity is the size of a page of device memory, in whose multiples it is
// made and mapped.
const granularity = 2 << 20

// reservation is a range of addresses that memory can be mapped at.
type reservation struct{ at, bytes uint64 }

func (r reservation) holds(at, bytes uint64) bool {
	return at >= r.at && bytes <= r.bytes && at-r.at <= r.bytes-bytes
}

// block is physical memory: it is freed when its handle is released and it is
// mapped nowhere.
type block struct {
	part     *allocation
	mappings int
	released bool
}

// deviceOf is the GPU that a location names.
func (p *process) deviceOf(l cuda.MemLocation) (*gpu, cuda.Result) {
	switch {
	case l.Type != cuda.MemLocationDevice:
		return nil, cuda.ErrInvalidValue
	case l.ID < 0 || int(l.ID) >= len(p.ordinals):
		return nil, cuda.ErrInvalidDevice
	case p.ordinals[l.ID].lost:
		return nil, cuda.ErrUnknown
	}
	return p.ordinals[l.ID], cuda.Success
}

func (p *process) memGetAllocationGranularity(bytes *uintptr, prop *cuda.MemAllocationProp, option uint32) cuda.Result {
	return p.started(func() cuda.Result {
		if prop == nil || prop.Type != cuda.MemAllocationPinned || option > 1 { // minimum, recommended
			return cuda.ErrInvalidValue
		}
		_, r := p.deviceOf(prop.Location)
		if r == cuda.Success {
			*bytes = granularity
		}
		return r
	})
}

// addresses takes a range above all that was taken before, and leaves a gap.
func (p *process) addresses(bytes uint64) uint64 {
	at := max(p.nextMapped, mappedBase)
	p.nextMapped = at + roundUp(bytes, granularity) + granularity
	return at
}

func (p *process) memAddressReserve(ptr *cuda.DevicePtr, bytes, align uintptr, _ cuda.DevicePtr, flags uint64) cuda.Result {
	return p.started(func() cuda.Result {
		if bytes == 0 || bytes%granularity != 0 || flags != 0 || align&(align-1) != 0 || align > granularity {
			return cuda.ErrInvalidValue
		}
		r := reservation{p.addresses(uint64(bytes)), uint64(bytes)}
		p.reserved = append(p.reserved, r)
		*ptr = cuda.DevicePtr(r.at)
		return cuda.Success
	})
}

func (p *process) memAddressFree(ptr cuda.DevicePtr, bytes uintptr) cuda.Result {
	return p.started(func() cuda.Result {
		r := reservation{uint64(ptr), uint64(bytes)}
		i := slices.Index(p.reserved, r)
		if i < 0 || slices.ContainsFunc(p.mapped, func(m *allocation) bool { return r.holds(m.at, uint64(len(m.data))) }) {
			return cuda.ErrInvalidValue
		}
		p.reserved = slices.Delete(p.reserved, i, i+1)
		return cuda.Success
	})
}

func (p *process) memCreate(handle *uint64, bytes uintptr, prop *cuda.MemAllocationProp, flags uint64) cuda.Result {
	return p.started(func() cuda.Result {
		if prop == nil || prop.Type != cuda.MemAllocationPinned || flags != 0 || bytes%granularity != 0 {
			return cuda.ErrInvalidValue
		}
		g, r := p.deviceOf(prop.Location)
		if r != cuda.Success {
			return r
		}
		part, r := g.memory.alloc(uint64(bytes), granularity, physical)
		if r == cuda.Success {
			*handle = uint64(p.newHandle(&block{part: part}))
		}
		return r
	})
}

func (p *process) memRelease(handle uint64) cuda.Result {
	return p.started(func() cuda.Result {
		b, ok := object[*block](p, uintptr(handle))
		if !ok {
			return cuda.ErrInvalidValue
		}
		delete(p.handles, uintptr(handle))
		b.released = true
		p.freeBlock(b)
		return cuda.Success
	})
}

func (p *process) freeBlock(b *block) {
	if b.released && b.mappings == 0 {
		p.gpus[b.part.gpu].memory.free(b.part)
		p.forget(b.part)
	}
}

func (p *process) memMap(ptr cuda.DevicePtr, bytes, offset uintptr, handle, flags uint64) cuda.Result {
	return p.started(func() cuda.Result {
		b, ok := object[*block](p, uintptr(handle))
		n := uint64(bytes)
		reserved := slices.ContainsFunc(p.reserved, func(r reservation) bool { return r.holds(uint64(ptr), n) })
		switch {
		case !ok, !reserved, flags != 0, offset != 0, n == 0, n%granularity != 0, ptr%granularity != 0:
			return cuda.ErrInvalidValue
		case n > uint64(len(b.part.data)):
			return cuda.ErrInvalidValue
		case slices.ContainsFunc(p.mapped, func(m *allocation) bool {
			return m.at < uint64(ptr)+n && uint64(ptr) < m.at+uint64(len(m.data))
		}):
			return cuda.ErrInvalidValue
		}
		b.mappings++
		p.mapped = with(p.mapped, &allocation{
			gpu: b.part.gpu, at: uint64(ptr), start: b.part.start, data: b.part.data[:n:n], origin: mapped,
			granted: map[int]int32{}, block: b,
		})
		return cuda.Success
	})
}

// inRange are the mappings that fill a range of addresses exactly; nil where
// none or others do.
func (p *process) inRange(ptr cuda.DevicePtr, bytes uint64) []*allocation {
	var all []*allocation
	at := uint64(ptr)
	for _, m := range p.mapped {
		if m.origin == mapped && m.at == at && at-uint64(ptr) < bytes {
			all = append(all, m)
			at += uint64(len(m.data))
		}
	}
	if at-uint64(ptr) != bytes {
		return nil
	}
	return all
}

func (p *process) memUnmap(ptr cuda.DevicePtr, bytes uintptr) cuda.Result {
	return p.started(func() cuda.Result {
		all := p.inRange(ptr, uint64(bytes))
		if all == nil {
			return cuda.ErrInvalidValue
		}
		for _, m := range all {
			p.mapped = without(p.mapped, m)
			p.forget(m)
			m.block.mappings--
			p.freeBlock(m.block)
		}
		return cuda.Success
	})
}

// memSetAccess says what the kernels and copies of devices may do with a range.
// Nobody else may touch it, not even the device that it lies on.
func (p *process) memSetAccess(ptr cuda.DevicePtr, bytes uintptr, desc *cuda.MemAccessDesc, count uintptr) cuda.Result {
	return p.started(func() cuda.Result {
		all := p.inRange(ptr, uint64(bytes))
		if all == nil {
			return cuda.ErrInvalidValue
		}
		rights, r := p.rights(p.gpus[all[0].gpu], desc, count)
		if r != cuda.Success {
			return r
		}
		for _, m := range all {
			for g, flags := range rights {
				m.granted[g] = flags
			}
		}
		return cuda.Success
	})
}

// rights reads what descriptions let GPUs do with memory of an owner. The
// driver refuses a device that cannot be its peer.
func (p *process) rights(owner *gpu, desc *cuda.MemAccessDesc, count uintptr) (map[int]int32, cuda.Result) {
	if desc == nil || count == 0 || count > uintptr(len(p.ordinals)) {
		return nil, cuda.ErrInvalidValue
	}
	rights := map[int]int32{}
	for _, d := range unsafe.Slice(desc, count) {
		g, r := p.deviceOf(d.Location)
		switch {
		case r != cuda.Success:
			return nil, r
		case d.Flags != mayNothing && d.Flags != mayRead && d.Flags != mayWrite:
			return nil, cuda.ErrInvalidValue
		case g != owner && !p.canAccess(g, owner):
			return nil, cuda.ErrInvalidDevice
		}
		rights[g.index] = d.Flags
	}
	return rights, cuda.Success
}
