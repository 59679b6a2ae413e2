package sim

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/kernels"
)

func TestNothingWorksBeforeInit(t *testing.T) {
	api, err := parse(t, hgx2).Open(History{}).OpenCUDA()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{TB: t, api: api}
	var n int32
	var c uintptr
	r.want(api.DeviceGetCount(&n), cuda.ErrNotInitialized)
	r.want(api.PrimaryCtxRetain(&c, 0), cuda.ErrNotInitialized)
	r.want(api.CtxSynchronize(), cuda.ErrNotInitialized)
	r.want(api.Init(1), cuda.ErrInvalidValue)
	r.ok(api.DriverGetVersion(&n))
	if n != 13000 {
		t.Errorf("CUDA version %d, want 13000", n)
	}
}

func TestDevices(t *testing.T) {
	r := open(t, hgx2, History{})
	var d, v int32
	r.want(r.api.DeviceGet(&d, 2), cuda.ErrInvalidDevice)
	r.want(r.api.DeviceGet(&d, -1), cuda.ErrInvalidDevice)
	var name [64]byte
	r.ok(r.api.DeviceGetName(&name[0], 64, 0))
	if got := string(name[:12]); got != "NVIDIA H200\x00" {
		t.Errorf("name %q", got)
	}
	r.ok(r.api.DeviceGetName(&name[0], 7, 0))
	if got := string(name[:7]); got != "NVIDIA\x00" {
		t.Errorf("cut name %q", got)
	}
	r.ok(r.api.DeviceGetBusID(&name[0], 64, 1))
	if got := string(name[:13]); got != "0000:2a:00.0\x00" {
		t.Errorf("bus id %q", got)
	}
	r.ok(r.api.DeviceAttribute(&v, cuda.AttrComputeMajor, 0))
	if v != 9 {
		t.Errorf("compute capability %d, want 9", v)
	}
	r.want(r.api.DeviceAttribute(&v, 9999, 0), cuda.ErrInvalidValue)
	var total, free uintptr
	r.ok(r.api.MemGetInfo(&free, &total))
	if free != 4<<20 || total != 150754820096 {
		t.Errorf("free %d of %d", free, total)
	}
}

func TestContextsBelongToThreads(t *testing.T) {
	r := open(t, hgx2, History{})
	r.on(1)
	got := make(chan cuda.Result)
	go func() {
		runtime.LockOSThread()
		got <- r.api.CtxSynchronize()
	}()
	r.want(<-got, cuda.ErrInvalidContext)
	r.ok(r.api.CtxSynchronize())
	r.ok(r.api.CtxSetCurrent(0))
	r.want(r.api.CtxSynchronize(), cuda.ErrInvalidContext)
	r.want(r.api.CtxSetCurrent(12345), cuda.ErrInvalidContext)
}

func TestPrimaryContextsAreCounted(t *testing.T) {
	r := open(t, hgx2, History{})
	var again uintptr
	r.ok(r.api.PrimaryCtxRetain(&again, 0))
	if again != r.ctx[0] {
		t.Fatal("a second context on one device")
	}
	p := r.alloc(0, 1024)
	r.ok(r.api.PrimaryCtxRelease(0))
	r.ok(r.api.MemsetD8Async(p, 1, 1024, 0)) // one reference is left
	r.ok(r.api.PrimaryCtxRelease(0))
	r.want(r.api.CtxSynchronize(), cuda.ErrContextIsDestroyed)
	r.want(r.api.CtxSetCurrent(r.ctx[0]), cuda.ErrInvalidContext)
	r.want(r.api.PrimaryCtxRelease(0), cuda.ErrInvalidContext)
	var fresh uintptr
	r.ok(r.api.PrimaryCtxRetain(&fresh, 0))
	r.ok(r.api.CtxSetCurrent(fresh))
	var free, total uintptr
	r.ok(r.api.MemGetInfo(&free, &total))
	if free != 4<<20 {
		t.Errorf("%d bytes free in a fresh context", free)
	}
	r.want(r.api.MemsetD8Async(p, 1, 1024, 0), cuda.ErrInvalidValue)
}

func TestPeerErrors(t *testing.T) {
	r := open(t, hgx2, History{})
	a, b := r.ctx[0], r.ctx[1]
	r.on(0)
	r.want(r.api.DisablePeerAccess(b), cuda.ErrPeerNotEnabled)
	r.want(r.api.EnablePeerAccess(b, 1), cuda.ErrInvalidValue)
	r.want(r.api.EnablePeerAccess(a, 0), cuda.ErrPeerAccessUnsupported)
	r.want(r.api.EnablePeerAccess(77, 0), cuda.ErrInvalidContext)
	r.ok(r.api.EnablePeerAccess(b, 0))
	r.want(r.api.EnablePeerAccess(b, 0), cuda.ErrPeerAlreadyEnabled)
	r.ok(r.api.DisablePeerAccess(b))
	r.want(r.api.DisablePeerAccess(b), cuda.ErrPeerNotEnabled)
	var can int32
	r.ok(r.api.CanAccessPeer(&can, 0, 0))
	if can != 0 {
		t.Error("a device is its own peer")
	}
	r.ok(r.api.CanAccessPeer(&can, 0, 1))
	if can != 1 {
		t.Error("no access on a healthy node")
	}
	r.want(r.api.CanAccessPeer(&can, 0, 2), cuda.ErrInvalidDevice)
	r.ok(r.api.P2PAttribute(&can, cuda.P2PNativeAtomics, 0, 1))
	if can != 1 {
		t.Error("no atomics over NVLink")
	}
	r.want(r.api.P2PAttribute(&can, cuda.P2PNativeAtomics, 0, 0), cuda.ErrInvalidDevice)
}

func TestEnableIsOneWay(t *testing.T) {
	for _, h := range []how{ways[2], ways[3]} {
		r := open(t, hgx2, History{})
		r.enable(0, 1)
		if wrong, _, result := r.moved(h, 0, 1, 4096); wrong != 0 || result != cuda.Success {
			t.Errorf("%s with access: %d wrong, %v", h.name, wrong, result)
		}
		if _, _, result := r.moved(h, 1, 0, 4096); result != cuda.ErrIllegalAddress {
			t.Errorf("%s against the way that is enabled: %v, want 700", h.name, result)
		}
	}
}

func TestDisableRevokes(t *testing.T) {
	r := open(t, hgx2, History{})
	r.enable(0, 1)
	r.on(0)
	r.ok(r.api.DisablePeerAccess(r.ctx[1]))
	if _, _, result := r.moved(ways[2], 0, 1, 4096); result != cuda.ErrIllegalAddress {
		t.Errorf("after disable: %v, want 700", result)
	}
}

func TestIllegalAddressPoisonsTheProcess(t *testing.T) {
	cases := map[string]func(r *rig) cuda.Result{
		"beyond the end": func(r *rig) cuda.Result {
			return r.launch(0, 0, kernels.Fill, uint64(r.alloc(0, 4096)), 4097, 1, 0)
		},
		"nowhere": func(r *rig) cuda.Result { return r.launch(0, 0, kernels.Fill, 4096, 8, 1, 0) },
		"freed": func(r *rig) cuda.Result {
			p := r.alloc(0, 4096)
			r.ok(r.api.MemFree(p))
			return r.launch(0, 0, kernels.Fill, uint64(p), 8, 1, 0)
		},
		"another GPU's": func(r *rig) cuda.Result {
			return r.launch(0, 0, kernels.Fill, uint64(r.alloc(1, 4096)), 8, 1, 0)
		},
		"a gate's flag": func(r *rig) cuda.Result { return r.launch(0, 0, kernels.Gate, 64, 1000) },
		"a result": func(r *rig) cuda.Result {
			return r.launch(0, 0, kernels.Verify, uint64(r.alloc(0, 4096)), 4096, 1, 0, 8)
		},
		"a load's": func(r *rig) cuda.Result { return r.launch(0, 0, kernels.Load, 8, 1000) },
		"a copy's": func(r *rig) cuda.Result {
			return r.launch(0, 0, kernels.Copy, uint64(r.alloc(0, 64)), 8, 64)
		},
	}
	for name, do := range cases {
		t.Run(name, func(t *testing.T) {
			r := open(t, hgx2, History{})
			mine := r.alloc(1, 4096)
			r.fill(1, mine, 4096, 5)
			r.ok(do(r)) // the launch itself succeeds
			r.on(0)
			r.want(r.api.CtxSynchronize(), cuda.ErrIllegalAddress)
			var n int32
			var c uintptr
			var p cuda.DevicePtr
			r.want(r.api.CtxSynchronize(), cuda.ErrIllegalAddress)
			r.want(r.api.CtxSetCurrent(r.ctx[1]), cuda.ErrIllegalAddress)
			r.want(r.api.DeviceGetCount(&n), cuda.ErrIllegalAddress)
			r.want(r.api.PrimaryCtxRetain(&c, 1), cuda.ErrIllegalAddress)
			r.want(r.api.PrimaryCtxRelease(0), cuda.ErrIllegalAddress)
			r.want(r.api.MemAlloc(&p, 8), cuda.ErrIllegalAddress)
			r.want(r.api.Init(0), cuda.ErrIllegalAddress)
			var text *byte
			r.ok(r.api.GetErrorName(cuda.ErrIllegalAddress, &text)) // needs no context
		})
	}
}

func TestModules(t *testing.T) {
	r := open(t, hgx2, History{})
	var m, f uintptr
	r.want(r.api.ModuleLoadData(&m, &[]byte("no PTX\x00")[0]), 200)
	r.ok(r.api.ModuleLoadData(&m, &kernels.PTX()[0]))
	for name := range kernels.Params {
		r.ok(r.api.ModuleGetFunction(&f, m, &append([]byte(name), 0)[0]))
	}
	r.want(r.api.ModuleGetFunction(&f, m, &[]byte("nothing\x00")[0]), cuda.ErrNotFound)
	p := r.alloc(0, 64)
	args := []uint64{uint64(p), 64, 1, 0}
	var at [4]unsafe.Pointer
	for i := range args {
		at[i] = unsafe.Pointer(&args[i])
	}
	r.ok(r.api.ModuleGetFunction(&f, m, &[]byte("fill\x00")[0]))
	run := func(grid, block uint32, stream uintptr) cuda.Result {
		return r.api.LaunchKernel(f, grid, 1, 1, block, 1, 1, 0, stream, &at[0], nil)
	}
	r.ok(run(1, 32, 0))
	r.want(run(0, 32, 0), cuda.ErrInvalidValue)
	r.want(run(1, 2048, 0), cuda.ErrInvalidValue)
	other := r.stream(1)
	r.on(0)
	r.want(run(1, 32, other), cuda.ErrInvalidHandle) // of another context
	r.ok(r.api.ModuleUnload(m))
	r.want(run(1, 32, 0), cuda.ErrInvalidHandle)
	r.want(r.api.ModuleGetFunction(&f, m, &[]byte("fill\x00")[0]), cuda.ErrInvalidHandle)
}

func TestStreamsAndEvents(t *testing.T) {
	r := open(t, hgx2, History{})
	s, start, end := r.stream(0), r.event(0), r.event(0)
	far := r.event(1)
	r.on(0)
	var ms float32
	r.want(r.api.EventElapsedTime(&ms, start, end), cuda.ErrInvalidHandle) // never recorded
	r.ok(r.api.EventSynchronize(start))
	r.ok(r.api.StreamWaitEvent(s, start, 0))
	r.ok(r.api.StreamQuery(s))
	r.ok(r.api.EventRecord(start, s))
	p := r.alloc(0, 1<<20)
	r.ok(r.api.MemsetD8Async(p, 1, 1<<20, s))
	r.ok(r.api.EventRecord(end, s))
	r.want(r.api.EventElapsedTime(&ms, start, end), cuda.ErrNotReady)
	r.want(r.api.StreamQuery(s), cuda.ErrNotReady)
	r.ok(r.api.StreamQuery(s))
	r.ok(r.api.EventElapsedTime(&ms, start, end))
	if want := float32(1<<20) / (6016 * 3201e6 * 2 / 8 * 0.88) * 1e3; ms < want*0.999 || ms > want*1.001 {
		t.Errorf("a memset of 1 MiB took %v ms, want %v", ms, want)
	}
	r.want(r.api.EventRecord(far, s), cuda.ErrInvalidHandle)
	r.ok(r.api.StreamWaitEvent(s, far, 0))
	r.want(r.api.EventElapsedTime(&ms, start, far), cuda.ErrInvalidHandle)
	var quiet uintptr
	r.ok(r.api.EventCreate(&quiet, 2))
	r.ok(r.api.EventRecord(quiet, s))
	r.ok(r.api.EventSynchronize(quiet))
	r.want(r.api.EventElapsedTime(&ms, start, quiet), cuda.ErrInvalidHandle)
	r.want(r.api.StreamCreate(&s, 9), cuda.ErrInvalidValue)
	r.want(r.api.EventCreate(&s, 64), cuda.ErrInvalidValue)
	r.ok(r.api.EventDestroy(end))
	r.want(r.api.EventDestroy(end), cuda.ErrInvalidHandle)
	r.want(r.api.StreamSynchronize(12), cuda.ErrInvalidHandle)
	r.ok(r.api.StreamDestroy(s))
	r.want(r.api.StreamDestroy(s), cuda.ErrInvalidHandle)
}

func TestErrorTexts(t *testing.T) {
	api, err := parse(t, hgx2).Open(History{}).OpenCUDA()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{TB: t, api: api}
	var name, text *byte
	r.ok(api.GetErrorName(cuda.ErrTooManyPeers, &name))
	r.ok(api.GetErrorString(cuda.ErrTooManyPeers, &text))
	if got := unsafe.String(name, 4); got != "CUDA" {
		t.Errorf("name begins with %q", got)
	}
	if got := unsafe.String(text, 4); got != "peer" {
		t.Errorf("text begins with %q", got)
	}
	r.want(api.GetErrorString(4242, &text), cuda.ErrInvalidValue)
}
