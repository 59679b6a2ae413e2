package sim

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/kernels"
)

// rig is a simulated process under test, on one locked OS thread. What fails
// that no test expects ends the test.
type rig struct {
	testing.TB
	bundle  *cuda.Bundle
	api     *cuda.API
	ctx     []uintptr // of each device
	modules map[uintptr]uintptr
}

const hgx2 = `
version: 1
gpus: {count: 2, model: NVIDIA H200, memory: 4MiB}
nvlink: {version: 4, switch: {links: 18}}
noise: 0
`

const pcie2 = `
version: 1
gpus: {count: 2, model: NVIDIA L40S, memory: 4MiB}
noise: 0
`

func parse(tb testing.TB, text string) *File {
	tb.Helper()
	f, err := Parse("test.yaml", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// open starts a process on a node with a context on every device.
func open(tb testing.TB, text string, history History) *rig {
	tb.Helper()
	runtime.LockOSThread()
	tb.Cleanup(runtime.UnlockOSThread)
	r := &rig{TB: tb, bundle: parse(tb, text).Open(history), modules: map[uintptr]uintptr{}}
	api, err := r.bundle.OpenCUDA()
	if err != nil {
		tb.Fatal(err)
	}
	r.api = api
	r.ok(api.Init(0))
	var n int32
	r.ok(api.DeviceGetCount(&n))
	for i := range n {
		var c uintptr
		r.ok(api.PrimaryCtxRetain(&c, i))
		r.ok(api.CtxSetCurrent(c))
		var m uintptr
		r.ok(api.ModuleLoadData(&m, &kernels.PTX()[0]))
		r.modules[c] = m
		r.ctx = append(r.ctx, c)
	}
	r.on(0)
	return r
}

func (r *rig) ok(got cuda.Result) { r.Helper(); r.want(got, cuda.Success) }

func (r *rig) want(got, want cuda.Result) {
	r.Helper()
	if got != want {
		r.Fatalf("got %v (%d), want %v (%d)", got, got, want, want)
	}
}

// on makes a device's context current.
func (r *rig) on(device int) { r.Helper(); r.ok(r.api.CtxSetCurrent(r.ctx[device])) }

func (r *rig) enable(a, b int) {
	r.Helper()
	r.on(a)
	r.ok(r.api.EnablePeerAccess(r.ctx[b], 0))
}

// alloc allocates on a device.
func (r *rig) alloc(device int, bytes uint64) cuda.DevicePtr {
	r.Helper()
	r.on(device)
	var p cuda.DevicePtr
	r.ok(r.api.MemAlloc(&p, uintptr(bytes)))
	return p
}

func (r *rig) stream(device int) uintptr {
	r.Helper()
	r.on(device)
	var s uintptr
	r.ok(r.api.StreamCreate(&s, 1))
	return s
}

func (r *rig) event(device int) uintptr {
	r.Helper()
	r.on(device)
	var e uintptr
	r.ok(r.api.EventCreate(&e, 0))
	return e
}

// launch runs a kernel on a device's stream.
func (r *rig) launch(device int, stream uintptr, name string, args ...uint64) cuda.Result {
	r.Helper()
	r.on(device)
	var f uintptr
	r.ok(r.api.ModuleGetFunction(&f, r.modules[r.ctx[device]], &append([]byte(name), 0)[0]))
	params := make([]unsafe.Pointer, len(args))
	for i := range args {
		params[i] = unsafe.Pointer(&args[i])
	}
	return r.api.LaunchKernel(f, 64, 1, 1, 256, 1, 1, 0, stream, unsafe.SliceData(params), nil)
}

// fill has a device write a pattern to memory.
func (r *rig) fill(device int, p cuda.DevicePtr, bytes, seed uint64) {
	r.Helper()
	r.ok(r.launch(device, 0, kernels.Fill, uint64(p), bytes, seed, 0))
	r.ok(r.api.CtxSynchronize())
}

// check has a device count the bytes that are not the pattern's.
func (r *rig) check(device int, p cuda.DevicePtr, bytes, seed uint64) (wrong, first uint64) {
	r.Helper()
	sum := r.alloc(device, 16)
	result := [2]uint64{0, ^uint64(0)}
	r.ok(r.api.MemcpyHtoDAsync(sum, unsafe.Pointer(&result), 16, 0))
	r.ok(r.launch(device, 0, kernels.Verify, uint64(p), bytes, seed, 0, uint64(sum)))
	r.ok(r.api.MemcpyDtoHAsync(unsafe.Pointer(&result), sum, 16, 0))
	r.ok(r.api.CtxSynchronize())
	r.ok(r.api.MemFree(sum))
	return result[0], result[1]
}

// holds says that memory holds a pattern, as its owner sees it.
func (r *rig) holds(device int, p cuda.DevicePtr, bytes, seed uint64) bool {
	r.Helper()
	wrong, _ := r.check(device, p, bytes, seed)
	return wrong == 0
}

// how an operation moves bytes between two devices.
type how struct {
	name  string
	read  bool
	isSM  bool
	class engine
}

var ways = []how{
	{"ce-read", true, false, ceRead},
	{"ce-write", false, false, ceWrite},
	{"sm-read", true, true, smRead},
	{"sm-write", false, true, smWrite},
}

// ends are the devices that hold source and destination of a move by a with b.
func (h how) ends(a, b int) (src, dst int) {
	if h.read {
		return b, a
	}
	return a, b
}

// move has a's engine move bytes between a and b.
func (r *rig) move(h how, a, b int, dst, src cuda.DevicePtr, bytes uint64, stream uintptr) cuda.Result {
	r.Helper()
	if h.isSM {
		return r.launch(a, stream, kernels.Copy, uint64(dst), uint64(src), bytes)
	}
	from, to := h.ends(a, b)
	r.on(a)
	return r.api.MemcpyPeerAsync(dst, r.ctx[to], src, r.ctx[from], uintptr(bytes), stream)
}

// moved fills source and destination, moves, and says what the owner of the
// destination then finds wrong.
func (r *rig) moved(h how, a, b int, bytes uint64) (wrong, first uint64, result cuda.Result) {
	r.Helper()
	from, to := h.ends(a, b)
	src, dst := r.alloc(from, bytes), r.alloc(to, bytes)
	r.fill(from, src, bytes, 1)
	r.fill(to, dst, bytes, 2)
	r.ok(r.move(h, a, b, dst, src, bytes, 0))
	r.on(a)
	if result = r.api.CtxSynchronize(); result != cuda.Success {
		return 0, 0, result
	}
	wrong, first = r.check(to, dst, bytes, 1)
	r.on(from)
	r.ok(r.api.MemFree(src))
	r.on(to)
	r.ok(r.api.MemFree(dst))
	return wrong, first, cuda.Success
}

// rate is the bandwidth of a move of one sample of copies, in GB/s.
func (r *rig) rate(h how, a, b int, dst, src cuda.DevicePtr, bytes uint64, copies int) float64 {
	r.Helper()
	s, start, end := r.stream(a), r.event(a), r.event(a)
	r.ok(r.api.EventRecord(start, s))
	for range copies {
		r.ok(r.move(h, a, b, dst, src, bytes, s))
	}
	r.ok(r.api.EventRecord(end, s))
	r.ok(r.api.StreamSynchronize(s))
	return float64(bytes) * float64(copies) / r.elapsed(start, end) / 1e9
}

// elapsed is in seconds.
func (r *rig) elapsed(start, end uintptr) float64 {
	r.Helper()
	var ms float32
	r.ok(r.api.EventElapsedTime(&ms, start, end))
	return float64(ms) / 1e3
}

func within(got, want, share float64) bool { return got > want*(1-share) && got < want*(1+share) }

func node(lines ...string) string {
	text := "version: 1\nnoise: 0\n"
	for _, l := range lines {
		text += l + "\n"
	}
	return text
}

func gpus(count int, model string) string {
	return fmt.Sprintf("gpus: {count: %d, model: %s, memory: 4MiB}", count, model)
}
