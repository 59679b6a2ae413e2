package cuda

import (
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fake is a driver of two devices that answers each call with success, or with
// the result that a test sets for it, and notes what it was asked. What is
// current belongs to the OS thread, as in the real one.
type fake struct {
	mu      sync.Mutex
	calls   []string
	current map[int]uintptr // context by thread
	results map[string]Result
	memory  map[unsafe.Pointer][]byte
}

func newFake() (*Driver, *fake) {
	f := &fake{current: map[int]uintptr{}, results: map[string]Result{}, memory: map[unsafe.Pointer][]byte{}}
	return NewDriver(f.api()), f
}

// said notes a call with the context that is current and gives its result.
func (f *fake) said(symbol, format string, args ...any) Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf("%x %s %s", f.current[unix.Gettid()], symbol, fmt.Sprintf(format, args...)))
	return f.results[symbol]
}

// all are the calls, and forgets them.
func (f *fake) all() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

// last is the newest call, and forgets all.
func (f *fake) last() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.calls) == 0 {
		return ""
	}
	call := f.calls[len(f.calls)-1]
	f.calls = nil
	return call
}

func text(to []byte, s string) { copy(to, s+"\x00") }

func (f *fake) api() *API {
	handle := uintptr(0xc000)
	fresh := func(h *uintptr) {
		f.mu.Lock()
		defer f.mu.Unlock()
		handle++
		*h = handle
	}
	api := &API{
		Init:             func(flags uint32) Result { return f.said("Init", "%d", flags) },
		DriverGetVersion: func(v *int32) Result { *v = 13000; return f.said("DriverGetVersion", "") },
		GetErrorName: func(code Result, name **byte) Result {
			if code != ErrPeerAlreadyEnabled {
				*name = nil
				return ErrInvalidValue
			}
			*name, _ = unix.BytePtrFromString("CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED")
			return Success
		},
		GetErrorString: func(code Result, s **byte) Result {
			if code != ErrPeerAlreadyEnabled {
				return ErrInvalidValue
			}
			*s, _ = unix.BytePtrFromString("peer access is already enabled")
			return Success
		},
		DeviceGetCount: func(n *int32) Result { *n = 2; return f.said("DeviceGetCount", "") },
		DeviceGet: func(d *int32, ordinal int32) Result {
			*d = 10 + ordinal
			return f.said("DeviceGet", "%d", ordinal)
		},
		DeviceGetName: func(name *byte, size, d int32) Result {
			text(unsafe.Slice(name, size), "NVIDIA H200")
			return f.said("DeviceGetName", "%d", d)
		},
		DeviceGetUUID: func(u *[16]byte, d int32) Result {
			for i := range u {
				u[i] = byte(16*i + i)
			}
			return f.said("DeviceGetUUID", "%d", d)
		},
		DeviceGetBusID: func(id *byte, size, d int32) Result {
			text(unsafe.Slice(id, size), "0000:3B:00.0")
			return f.said("DeviceGetBusID", "%d", d)
		},
		DeviceAttribute: func(v *int32, a, d int32) Result { *v = -a; return f.said("DeviceAttribute", "%d %d", a, d) },
		CanAccessPeer: func(can *int32, d, peer int32) Result {
			*can = 1
			return f.said("CanAccessPeer", "%d %d", d, peer)
		},
		P2PAttribute: func(v *int32, a, src, dst int32) Result {
			*v = 1
			return f.said("P2PAttribute", "%d %d %d", a, src, dst)
		},

		PrimaryCtxRetain:  func(c *uintptr, d int32) Result { *c = uintptr(d) << 4; return f.said("PrimaryCtxRetain", "%d", d) },
		PrimaryCtxRelease: func(d int32) Result { return f.said("PrimaryCtxRelease", "%d", d) },
		CtxSetCurrent: func(c uintptr) Result {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.current[unix.Gettid()] = c
			return f.results["CtxSetCurrent"]
		},
		CtxSynchronize:    func() Result { return f.said("CtxSynchronize", "") },
		EnablePeerAccess:  func(peer uintptr, flags uint32) Result { return f.said("EnablePeerAccess", "%x %d", peer, flags) },
		DisablePeerAccess: func(peer uintptr) Result { return f.said("DisablePeerAccess", "%x", peer) },

		MemAlloc:   func(p *DevicePtr, n uintptr) Result { *p = 0x70000; return f.said("MemAlloc", "%d", n) },
		MemFree:    func(p DevicePtr) Result { return f.said("MemFree", "%x", p) },
		MemGetInfo: func(free, total *uintptr) Result { *free, *total = 3, 4; return f.said("MemGetInfo", "") },
		MemHostAlloc: func(p *unsafe.Pointer, n uintptr, flags uint32) Result {
			memory := make([]byte, n)
			*p = unsafe.Pointer(&memory[0])
			f.memory[*p] = memory
			return f.said("MemHostAlloc", "%d %d", n, flags)
		},
		MemFreeHost: func(p unsafe.Pointer) Result { delete(f.memory, p); return f.said("MemFreeHost", "") },
		MemHostGetDevicePointer: func(p *DevicePtr, _ unsafe.Pointer, flags uint32) Result {
			*p = 0x90000
			return f.said("MemHostGetDevicePointer", "%d", flags)
		},

		MemsetD8Async: func(p DevicePtr, v uint8, n, s uintptr) Result {
			return f.said("MemsetD8Async", "%x %d %d %x", p, v, n, s)
		},
		MemcpyHtoDAsync: func(dst DevicePtr, src unsafe.Pointer, n, s uintptr) Result {
			return f.said("MemcpyHtoDAsync", "%x %d %d %x", dst, *(*byte)(src), n, s)
		},
		MemcpyDtoHAsync: func(dst unsafe.Pointer, src DevicePtr, n, s uintptr) Result {
			*(*byte)(dst) = 9
			return f.said("MemcpyDtoHAsync", "%x %d %x", src, n, s)
		},
		MemcpyDtoDAsync: func(dst, src DevicePtr, n, s uintptr) Result {
			return f.said("MemcpyDtoDAsync", "%x %x %d %x", dst, src, n, s)
		},
		MemcpyPeerAsync: func(dst DevicePtr, to uintptr, src DevicePtr, from, n, s uintptr) Result {
			return f.said("MemcpyPeerAsync", "%x@%x %x@%x %d %x", dst, to, src, from, n, s)
		},

		StreamCreate:      func(s *uintptr, flags uint32) Result { fresh(s); return f.said("StreamCreate", "%d", flags) },
		StreamDestroy:     func(s uintptr) Result { return f.said("StreamDestroy", "%x", s) },
		StreamSynchronize: func(s uintptr) Result { return f.said("StreamSynchronize", "%x", s) },
		StreamQuery:       func(s uintptr) Result { return f.said("StreamQuery", "%x", s) },
		StreamWaitEvent:   func(s, e uintptr, flags uint32) Result { return f.said("StreamWaitEvent", "%x %x %d", s, e, flags) },
		EventCreate:       func(e *uintptr, flags uint32) Result { fresh(e); return f.said("EventCreate", "%d", flags) },
		EventDestroy:      func(e uintptr) Result { return f.said("EventDestroy", "%x", e) },
		EventRecord:       func(e, s uintptr) Result { return f.said("EventRecord", "%x %x", e, s) },
		EventSynchronize:  func(e uintptr) Result { return f.said("EventSynchronize", "%x", e) },
		EventElapsedTime: func(ms *float32, start, end uintptr) Result {
			*ms = 1.5
			return f.said("EventElapsedTime", "%x %x", start, end)
		},

		ModuleLoadData: func(m *uintptr, image *byte) Result {
			fresh(m)
			return f.said("ModuleLoadData", "%s", unix.BytePtrToString(image))
		},
		ModuleUnload: func(m uintptr) Result { return f.said("ModuleUnload", "%x", m) },
		ModuleGetFunction: func(fn *uintptr, m uintptr, name *byte) Result {
			fresh(fn)
			return f.said("ModuleGetFunction", "%x %s", m, unix.BytePtrToString(name))
		},
		LaunchKernel: func(fn uintptr, gx, gy, gz, bx, by, bz, shared uint32, s uintptr, params *unsafe.Pointer, _ unsafe.Pointer) Result {
			var values []uint64
			for p := params; *p != nil; p = (*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(p), unsafe.Sizeof(*p))) {
				values = append(values, *(*uint64)(*p))
			}
			return f.said("LaunchKernel", "%x %dx%dx%d %dx%dx%d %d %x %v", fn, gx, gy, gz, bx, by, bz, shared, s, values)
		},
	}
	f.addOptional(api, fresh)
	return api
}
