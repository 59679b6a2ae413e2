package sim

import (
	"cmp"
	"os"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"github.com/peerproof/peerproof/cuda"
)

// Device memory lies above every address of a Linux process (47 bits), each
// GPU's in a window of its own, so that an address names its owner. What is
// mapped lies above all windows.
const (
	windowBits = 40
	windowBase = 1 << 48
	mappedBase = 1 << 50
	alignment  = 256 // of an allocation, as the driver promises
)

// arena is the memory of one GPU.
type arena struct {
	gpu   int
	size  uint64
	used  uint64
	data  []byte        // nil until something is allocated
	file  *os.File      // what data maps since a part was shared; else nil
	parts []*allocation // by address
}

// allocation is a piece of device or pinned host memory, at one address.
type allocation struct {
	gpu    int    // whose memory it is; -1: the host's
	at     uint64 // address of its first byte
	start  uint64 // offset in the GPU's memory
	data   []byte
	origin origin
	// granted is what GPUs, by number, may do with it; nil: what peer access
	// lets them.
	granted map[int]int32
	gone    bool // freed; its address means nothing any more
	shared  bool // another process may write it at any time
	mirrors map[int]*mirror
	block   *block // what is mapped
	pages   []byte // what is imported, in whole pages
}

// origin is how an allocation came to be, which says how it may be freed.
type origin uint8

const (
	plain    origin = iota // cuMemAlloc, cuMemHostAlloc
	pooled                 // cuMemAllocFromPoolAsync
	physical               // cuMemCreate: it has no address of its own
	mapped                 // cuMemMap
	imported               // cuIpcOpenMemHandle
)

// span is a range of an allocation.
type span struct {
	*allocation
	off, n uint64
}

func (s span) bytes() []byte { return s.data[s.off : s.off+s.n : s.off+s.n] }

// overlaps says that two ranges are, in part, the same memory, at whatever
// addresses.
func (s span) overlaps(t span) bool {
	a, b := s.start+s.off, t.start+t.off
	return s.gpu == t.gpu && a < b+t.n && b < a+s.n
}

func newArena(gpu int, size uint64) *arena { return &arena{gpu: gpu, size: size} }

func (a *arena) base() uint64 { return windowBase + uint64(a.gpu)<<windowBits }

func roundUp(n, step uint64) uint64 { return (n + step - 1) / step * step }

// alloc takes the first gap that is large enough, at an offset of a multiple of
// step. The contents are what was there before, as on a GPU.
func (a *arena) alloc(bytes, step uint64, from origin) (*allocation, cuda.Result) {
	if bytes == 0 {
		return nil, cuda.ErrInvalidValue
	}
	if bytes > a.size-a.used {
		return nil, cuda.ErrOutOfMemory
	}
	if a.data == nil {
		data, err := pages(a.size)
		if err != nil {
			return nil, cuda.ErrOutOfMemory
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
		at = roundUp(a.parts[i].start+uint64(len(a.parts[i].data)), step)
	}
	if at > a.size || bytes > a.size-at {
		return nil, cuda.ErrOutOfMemory
	}
	part := &allocation{gpu: a.gpu, at: a.base() + at, start: at, data: a.data[at : at+bytes : at+bytes], origin: from}
	a.parts = slices.Insert(a.parts, i, part)
	a.used += bytes
	return part, cuda.Success
}

// free gives an allocation back.
func (a *arena) free(part *allocation) {
	a.parts = without(a.parts, part)
	a.used -= uint64(len(part.data))
}

func without(all []*allocation, part *allocation) []*allocation {
	return slices.DeleteFunc(all, func(p *allocation) bool { return p == part })
}

// with inserts an allocation by its address.
func with(all []*allocation, part *allocation) []*allocation {
	i, _ := slices.BinarySearchFunc(all, part.at, byAddress)
	return slices.Insert(all, i, part)
}

func byAddress(p *allocation, at uint64) int { return cmp.Compare(p.at, at) }

// find is the range of n bytes from an address on, where one part holds all of
// it.
func find(parts []*allocation, at, n uint64) (span, bool) {
	i, exact := slices.BinarySearchFunc(parts, at, byAddress)
	if !exact {
		i--
	}
	if i < 0 || parts[i].origin == physical {
		return span{}, false
	}
	off := at - parts[i].at
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
	if ptr >= mappedBase {
		return find(p.mapped, uint64(ptr), n)
	}
	g := uint64(ptr-windowBase) >> windowBits
	if g >= uint64(len(p.gpus)) {
		return span{}, false
	}
	return find(p.gpus[g].memory.parts, uint64(ptr), n)
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
	return span{&allocation{gpu: -1, at: uint64(uintptr(ptr)), data: unsafe.Slice((*byte)(ptr), n)}, 0, n}, true
}

// pages maps zeroed memory that costs nothing until it is touched.
func pages(bytes uint64) ([]byte, error) {
	return syscall.Mmap(-1, 0, int(bytes), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
}

func (p *process) memAlloc(ptr *cuda.DevicePtr, bytes uintptr) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		part, r := c.gpu.memory.alloc(uint64(bytes), alignment, plain)
		if r == cuda.Success {
			*ptr = cuda.DevicePtr(part.at)
		}
		return r
	})
}

// memFree waits, as the driver does, for work that may still use the memory.
func (p *process) memFree(ptr cuda.DevicePtr) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		s, ok := p.find(ptr, 1)
		if !ok || s.gpu < 0 || s.off != 0 || s.origin > pooled {
			return cuda.ErrInvalidValue
		}
		owner := p.gpus[s.gpu]
		if owner.lost {
			return cuda.ErrUnknown
		}
		if r := p.settle(c.all()...); r != cuda.Success {
			return r
		}
		owner.memory.free(s.allocation)
		p.forget(s.allocation)
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
		p.pinned = with(p.pinned, &allocation{gpu: -1, at: at, data: data})
		return cuda.Success
	})
}

func (p *process) memFreeHost(ptr unsafe.Pointer) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		i, ok := slices.BinarySearchFunc(p.pinned, uint64(uintptr(ptr)), byAddress)
		if !ok {
			return cuda.ErrInvalidValue
		}
		if r := p.settle(c.all()...); r != cuda.Success {
			return r
		}
		part := p.pinned[i]
		p.pinned = without(p.pinned, part)
		part.gone = true
		if syscall.Munmap(part.data) != nil {
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
