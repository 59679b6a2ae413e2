package sim

import (
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"github.com/peerproof/peerproof/cuda"
)

// Device memory lies above every address of a Linux process (47 bits), each
// GPU's in a window of its own, so that an address names its owner.
const (
	windowBits = 40
	windowBase = 1 << 48
	alignment  = 256 // of an allocation, as the driver promises
)

// arena is the memory of one GPU.
type arena struct {
	gpu   int
	size  uint64
	used  uint64
	data  []byte        // nil until something is allocated
	parts []*allocation // by offset
}

// allocation is a piece of device or pinned host memory.
type allocation struct {
	gpu   int    // -1: host
	start uint64 // offset in the GPU's memory; address of host memory
	data  []byte
}

// span is a range of an allocation.
type span struct {
	*allocation
	off, n uint64
}

func (s span) bytes() []byte { return s.data[s.off : s.off+s.n : s.off+s.n] }

func (s span) overlaps(t span) bool {
	return s.allocation == t.allocation && s.off < t.off+t.n && t.off < s.off+s.n
}

func newArena(gpu int, size uint64) *arena { return &arena{gpu: gpu, size: size} }

func (a *arena) base() uint64 { return windowBase + uint64(a.gpu)<<windowBits }

func roundUp(n uint64) uint64 { return (n + alignment - 1) &^ (alignment - 1) }

// alloc takes the first gap that is large enough. The contents are what was
// there before, as on a GPU.
func (a *arena) alloc(bytes uint64) (cuda.DevicePtr, cuda.Result) {
	if bytes == 0 {
		return 0, cuda.ErrInvalidValue
	}
	if bytes > a.size-a.used {
		return 0, cuda.ErrOutOfMemory
	}
	if a.data == nil {
		data, err := pages(a.size)
		if err != nil {
			return 0, cuda.ErrOutOfMemory
		}
		a.data = data
		// Only tests open more than one bundle in a process.
		runtime.AddCleanup(a, func(data []byte) { _ = syscall.Munmap(data) }, data)
	}
	at, i := uint64(0), 0
	for ; i < len(a.parts); i++ {
		if at+bytes <= a.parts[i].start {
			break
		}
		at = roundUp(a.parts[i].start + uint64(len(a.parts[i].data)))
	}
	if at > a.size || bytes > a.size-at {
		return 0, cuda.ErrOutOfMemory
	}
	a.parts = slices.Insert(a.parts, i, &allocation{gpu: a.gpu, start: at, data: a.data[at : at+bytes : at+bytes]})
	a.used += bytes
	return cuda.DevicePtr(a.base() + at), cuda.Success
}

// free gives back the allocation that begins at an offset; nil where none does.
func (a *arena) free(start uint64) *allocation {
	i, ok := slices.BinarySearchFunc(a.parts, start, byStart)
	if !ok {
		return nil
	}
	part := a.parts[i]
	a.parts = slices.Delete(a.parts, i, i+1)
	a.used -= uint64(len(part.data))
	return part
}

func byStart(p *allocation, start uint64) int {
	switch {
	case p.start < start:
		return -1
	case p.start > start:
		return 1
	default:
		return 0
	}
}

// find is the range of n bytes from an offset or address on, where one part
// holds all of it.
func find(parts []*allocation, start, n uint64) (span, bool) {
	i, exact := slices.BinarySearchFunc(parts, start, byStart)
	if !exact {
		i--
	}
	if i < 0 {
		return span{}, false
	}
	off := start - parts[i].start
	if size := uint64(len(parts[i].data)); off > size || n > size-off || off == size && n == 0 {
		return span{}, false
	}
	return span{parts[i], off, n}, true
}

// find is the memory behind a device address or the address of pinned memory.
func (p *process) find(ptr cuda.DevicePtr, n uint64) (span, bool) {
	if ptr < windowBase {
		return find(p.pinned, uint64(ptr), n)
	}
	g := uint64(ptr-windowBase) >> windowBits
	if g >= uint64(len(p.gpus)) {
		return span{}, false
	}
	return find(p.gpus[g].memory.parts, uint64(ptr)&(1<<windowBits-1), n)
}

// hostSpan is host memory at a pointer of the caller's: pinned, or pageable
// memory that nothing is known of.
func (p *process) hostSpan(ptr unsafe.Pointer, n uint64) (span, bool) {
	if ptr == nil {
		return span{}, false
	}
	if _, pinned := find(p.pinned, uint64(uintptr(ptr)), 1); pinned {
		return find(p.pinned, uint64(uintptr(ptr)), n)
	}
	return span{&allocation{gpu: -1, data: unsafe.Slice((*byte)(ptr), n)}, 0, n}, true
}

// pages maps zeroed memory that costs nothing until it is touched.
func pages(bytes uint64) ([]byte, error) {
	return syscall.Mmap(-1, 0, int(bytes), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
}

func (p *process) memAlloc(ptr *cuda.DevicePtr, bytes uintptr) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		at, r := c.gpu.memory.alloc(uint64(bytes))
		if r == cuda.Success {
			*ptr = at
		}
		return r
	})
}

// memFree waits, as the driver does, for work that may still use the memory.
func (p *process) memFree(ptr cuda.DevicePtr) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		s, ok := p.find(ptr, 1)
		if !ok || s.gpu < 0 || s.off != 0 {
			return cuda.ErrInvalidValue
		}
		owner := p.gpus[s.gpu]
		if owner.lost {
			return cuda.ErrUnknown
		}
		if r := p.settle(c.all()...); r != cuda.Success {
			return r
		}
		p.forget(owner.memory.free(s.start))
		return cuda.Success
	})
}

func (p *process) memGetInfo(free, total *uintptr) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		*free, *total = uintptr(c.gpu.memory.size-c.gpu.memory.used), uintptr(p.file.product.memory())
		return cuda.Success
	})
}

func (p *process) memHostAlloc(ptr *unsafe.Pointer, bytes uintptr, flags uint32) cuda.Result {
	const known = 1 | 2 | 4 // CU_MEMHOSTALLOC_PORTABLE, DEVICEMAP, WRITECOMBINED
	return p.inContext(func(*context) cuda.Result {
		if bytes == 0 || flags&^known != 0 {
			return cuda.ErrInvalidValue
		}
		data, err := pages(uint64(bytes))
		if err != nil {
			return cuda.ErrOutOfMemory
		}
		*ptr = unsafe.Pointer(unsafe.SliceData(data))
		at := uint64(uintptr(*ptr))
		i, _ := slices.BinarySearchFunc(p.pinned, at, byStart)
		p.pinned = slices.Insert(p.pinned, i, &allocation{gpu: -1, start: at, data: data})
		return cuda.Success
	})
}

func (p *process) memFreeHost(ptr unsafe.Pointer) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		i, ok := slices.BinarySearchFunc(p.pinned, uint64(uintptr(ptr)), byStart)
		if !ok {
			return cuda.ErrInvalidValue
		}
		if r := p.settle(c.all()...); r != cuda.Success {
			return r
		}
		data := p.pinned[i].data
		p.pinned = slices.Delete(p.pinned, i, i+1)
		if syscall.Munmap(data) != nil {
			return cuda.ErrInvalidValue
		}
		return cuda.Success
	})
}

func (p *process) memHostGetDevicePointer(ptr *cuda.DevicePtr, host unsafe.Pointer, flags uint32) cuda.Result {
	return p.inContext(func(*context) cuda.Result {
		if _, ok := find(p.pinned, uint64(uintptr(host)), 1); !ok || flags != 0 {
			return cuda.ErrInvalidValue
		}
		*ptr = cuda.DevicePtr(uintptr(host)) // one address space, as on 64-bit Linux
		return cuda.Success
	})
}
