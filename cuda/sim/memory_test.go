package sim

import (
	"testing"
	"unsafe"

	"github.com/peerproof/peerproof/cuda"
)

func TestCopiesNeedNoAccess(t *testing.T) {
	for _, h := range ways[:2] {
		r := open(t, hgx2, History{})
		if wrong, _, result := r.moved(h, 0, 1, 4096); wrong != 0 || result != cuda.Success {
			t.Errorf("%s without access: %d wrong, %v", h.name, wrong, result)
		}
	}
}

func TestCopiesToUnknownMemoryAreRefused(t *testing.T) {
	r := open(t, hgx2, History{})
	p := r.alloc(0, 4096)
	other := r.alloc(1, 4096)
	var text [8]byte
	r.on(0)
	r.want(r.api.MemcpyDtoDAsync(p, 64, 8, 0), cuda.ErrInvalidValue)
	r.want(r.api.MemcpyDtoDAsync(p+4090, p, 8, 0), cuda.ErrInvalidValue)
	r.want(r.api.MemcpyHtoDAsync(p, nil, 8, 0), cuda.ErrInvalidValue)
	r.want(r.api.MemcpyDtoHAsync(unsafe.Pointer(&text), p+4096, 8, 0), cuda.ErrInvalidValue)
	r.want(r.api.MemcpyPeerAsync(p, r.ctx[0], other, r.ctx[0], 8, 0), cuda.ErrInvalidValue)
	r.want(r.api.MemcpyPeerAsync(p, r.ctx[0], other, 3, 8, 0), cuda.ErrInvalidContext)
	r.want(r.api.MemsetD8Async(other, 1, 8, 0), cuda.ErrInvalidValue)
	r.want(r.api.MemcpyDtoDAsync(p, p, 8, 99), cuda.ErrInvalidHandle)
	r.ok(r.api.MemcpyDtoDAsync(p, 64, 0, 0)) // nothing to copy
	r.ok(r.api.CtxSynchronize())
}

func TestAllocations(t *testing.T) {
	r := open(t, hgx2, History{})
	var p cuda.DevicePtr
	r.want(r.api.MemAlloc(&p, 0), cuda.ErrInvalidValue)
	r.want(r.api.MemAlloc(&p, 5<<20), cuda.ErrOutOfMemory)
	a, b, c := r.alloc(0, 1), r.alloc(0, 300), r.alloc(0, 4<<20-1024)
	for _, q := range []cuda.DevicePtr{a, b, c} {
		if q%alignment != 0 {
			t.Errorf("%#x is not aligned", q)
		}
	}
	r.want(r.api.MemAlloc(&p, 4096), cuda.ErrOutOfMemory)
	r.want(r.api.MemFree(b+8), cuda.ErrInvalidValue)
	r.ok(r.api.MemFree(b))
	r.want(r.api.MemFree(b), cuda.ErrInvalidValue)
	if again := r.alloc(0, 512); again != b {
		t.Errorf("the gap at %#x was not used: %#x", b, again)
	}
	far := r.alloc(1, 64)
	if far>>windowBits == a>>windowBits {
		t.Error("two GPUs share a window of addresses")
	}
}

func TestHostMemory(t *testing.T) {
	r := open(t, hgx2, History{})
	var h unsafe.Pointer
	r.want(r.api.MemHostAlloc(&h, 0, 0), cuda.ErrInvalidValue)
	r.want(r.api.MemHostAlloc(&h, 8, 64), cuda.ErrInvalidValue)
	r.ok(r.api.MemHostAlloc(&h, 8192, 3))
	host := unsafe.Slice((*byte)(h), 8192)
	fillPattern(host, 4, 0)
	p := r.alloc(0, 8192)
	r.ok(r.api.MemcpyHtoDAsync(p, h, 8192, 0))
	if !r.holds(0, p, 8192, 4) {
		t.Error("what the host wrote did not arrive")
	}
	r.want(r.api.MemcpyHtoDAsync(p, unsafe.Add(h, 8000), 400, 0), cuda.ErrInvalidValue)
	var at cuda.DevicePtr
	r.ok(r.api.MemHostGetDevicePointer(&at, h, 0))
	r.fill(0, at, 8192, 6)
	if wrong, _ := verifyPattern(host, 6, 0); wrong != 0 {
		t.Errorf("a kernel's writes to mapped memory: %d wrong", wrong)
	}
	r.ok(r.api.MemFreeHost(h))
	r.want(r.api.MemFreeHost(h), cuda.ErrInvalidValue)
	r.want(r.api.MemHostGetDevicePointer(&at, h, 0), cuda.ErrInvalidValue)
}

func TestRepeatedCopiesSeeEveryWrite(t *testing.T) {
	for _, h := range ways {
		r := open(t, hgx2, History{})
		r.enable(0, 1)
		from, to := h.ends(0, 1)
		src, dst := r.alloc(from, 8192), r.alloc(to, 8192)
		copyAndCheck := func(what string, seed uint64) {
			t.Helper()
			r.ok(r.move(h, 0, 1, dst, src, 8192, 0))
			if !r.holds(to, dst, 8192, seed) {
				t.Errorf("%s: %s", h.name, what)
			}
		}
		r.fill(from, src, 8192, 1)
		copyAndCheck("first", 1)
		copyAndCheck("again", 1)
		r.fill(from, src, 8192, 2)
		copyAndCheck("after a write to the source", 2)
		r.fill(to, dst+4096, 64, 9)
		copyAndCheck("after a write to part of the destination", 2)
		r.on(from)
		r.ok(r.api.MemsetD8Async(src, 7, 8192, 0))
		r.ok(r.api.MemcpyDtoDAsync(src, src+4096, 1, 0))
		r.ok(r.move(h, 0, 1, dst, src, 8192, 0))
		if r.holds(to, dst, 8192, 2) {
			t.Errorf("%s: a memset of the source was not seen", h.name)
		}
		r.fill(from, src, 8192, 3)
		copyAndCheck("after all", 3)
		r.on(from)
		r.ok(r.api.MemFree(src))
		src = r.alloc(from, 8192) // the same place
		r.fill(from, src, 8192, 4)
		copyAndCheck("from memory that was freed between", 4)
	}
}
