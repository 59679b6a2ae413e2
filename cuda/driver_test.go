package cuda

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// rig is one of everything on the two devices of a fake.
type rig struct {
	driver *Driver
	fake   *fake
	a, b   *Context // gpu0 and gpu1
	from   *Buffer  // of 100 bytes on a
	to     *Buffer  // of 100 bytes on b
	host   *HostBuffer
	stream *Stream // on a, as what follows
	event  *Event
	fn     *Function
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{}
	r.driver, r.fake = newFake()
	device := must[*Device](t)
	r.a = must[*Context](t)(device(r.driver.Device(0)).Retain())
	r.b = must[*Context](t)(device(r.driver.Device(1)).Retain())
	r.from = must[*Buffer](t)(r.a.Alloc(100))
	r.to = must[*Buffer](t)(r.b.Alloc(100))
	r.host = must[*HostBuffer](t)(r.a.AllocHost(100))
	r.stream = must[*Stream](t)(r.a.NewStream())
	r.event = must[*Event](t)(r.a.NewEvent(true))
	r.fn = must[*Function](t)(must[*Module](t)(r.a.LoadModule([]byte("ptx"))).Function("fill"))
	return r
}

// Each method makes one call, with its context current and its arguments in
// their places. Handles of the fake are numbered from c001 in newRig's order.
func TestMethodsCallTheDriver(t *testing.T) {
	for _, c := range []struct {
		name string
		call func(r *rig) error
		want string
	}{
		{"synchronize", func(r *rig) error { return r.b.Synchronize() }, "b0 CtxSynchronize "},
		{"enable", func(r *rig) error { return r.a.EnablePeer(r.b) }, "a0 EnablePeerAccess b0 0"},
		{"enable with flags", func(r *rig) error { return r.b.EnablePeerFlags(r.a, 1) }, "b0 EnablePeerAccess a0 1"},
		{"disable", func(r *rig) error { return r.b.DisablePeer(r.a) }, "b0 DisablePeerAccess a0"},
		{"free", func(r *rig) error { return r.to.Close() }, "b0 MemFree 70000"},
		{"free pinned", func(r *rig) error { return r.host.Close() }, "a0 MemFreeHost "},
		{"peer copy", func(r *rig) error { return r.stream.CopyPeer(r.to, 2, r.from, 3, 90) }, "a0 MemcpyPeerAsync 70002@b0 70003@a0 90 c001"},
		{"device copy", func(r *rig) error { return r.stream.CopyDtoD(r.from, 50, r.from, 0, 50) }, "a0 MemcpyDtoDAsync 70032 70000 50 c001"},
		{"copy in", func(r *rig) error { r.host.Data()[7] = 42; return r.stream.CopyHtoD(r.from, 1, r.host, 7, 2) }, "a0 MemcpyHtoDAsync 70001 42 2 c001"},
		{"copy out", func(r *rig) error { return r.stream.CopyDtoH(r.host, 8, r.from, 1, 2) }, "a0 MemcpyDtoHAsync 70001 2 c001"},
		{"memset", func(r *rig) error { return r.stream.Memset(r.from, 4, 96, 0xff) }, "a0 MemsetD8Async 70004 255 96 c001"},
		{"record", func(r *rig) error { return r.stream.Record(r.event) }, "a0 EventRecord c002 c001"},
		{"wait for event", func(r *rig) error { return r.stream.WaitEvent(r.event) }, "a0 StreamWaitEvent c001 c002 0"},
		{"wait", func(r *rig) error { return r.stream.Synchronize() }, "a0 StreamSynchronize c001"},
		{"wait on event", func(r *rig) error { return r.event.Synchronize() }, "a0 EventSynchronize c002"},
		{"close stream", func(r *rig) error { return r.stream.Close() }, "a0 StreamDestroy c001"},
		{"close event", func(r *rig) error { return r.event.Close() }, "a0 EventDestroy c002"},
		{"unload", func(r *rig) error { return r.fn.module.Close() }, "a0 ModuleUnload c003"},
		{"launch", func(r *rig) error { return r.stream.Launch(r.fn, 5, 6, 7, 1<<63) }, "a0 LaunchKernel c004 5x1x1 6x1x1 0 c001 [7 9223372036854775808]"},
		{"launch without parameters", func(r *rig) error { return r.stream.Launch(r.fn, 1, 1) }, "a0 LaunchKernel c004 1x1x1 1x1x1 0 c001 []"},
		{"new untimed event", func(r *rig) error { _, err := r.a.NewEvent(false); return err }, "a0 EventCreate 2"},
		{"new stream", func(r *rig) error { _, err := r.b.NewStream(); return err }, "b0 StreamCreate 1"},
		{"pinned", func(r *rig) error { _, err := r.b.AllocHost(10); return err }, "b0 MemHostGetDevicePointer 0"},
		{"module", func(r *rig) error { _, err := r.b.LoadModule([]byte("x\x00")); return err }, "b0 ModuleLoadData x"},
		{"function", func(r *rig) error { _, err := r.fn.module.Function("copy"); return err }, "a0 ModuleGetFunction c003 copy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			if err := c.call(r); err != nil {
				t.Fatal(err)
			}
			if got := r.fake.last(); got != c.want {
				t.Errorf("the driver was asked %q, want %q", got, c.want)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	r := newRig(t)
	dev, peer := r.a.Device(), r.b.Device()
	text, number := must[string](t), must[int](t)
	for what, got := range map[string][2]any{
		"count":     {number(r.driver.Count()), 2},
		"version":   {number(r.driver.Version()), 13000},
		"name":      {text(dev.Name()), "NVIDIA H200"},
		"uuid":      {text(dev.UUID()), "GPU-00112233-4455-6677-8899-aabbccddeeff"},
		"bus id":    {text(dev.BusID()), "0000:3b:00.0"},
		"attribute": {number(dev.Attribute(AttrComputeMajor)), -AttrComputeMajor},
		"access":    {must[bool](t)(dev.CanAccessPeer(peer)), true},
		"p2p":       {number(dev.P2PAttribute(P2PNativeAtomics, peer)), 1},
		"elapsed":   {must[time.Duration](t)(r.event.Since(r.event)), 1500 * time.Microsecond},
		"idle":      {must[bool](t)(r.stream.Query()), true},
		"device":    {r.to.Context().Device().Ordinal, 1},
		"pinned":    {len(r.host.Data()), 100},
		"size":      {r.host.Size(), uint64(100)},
		"mapped":    {r.host.DevicePtr(), DevicePtr(0x90000)},
	} {
		if got[0] != got[1] {
			t.Errorf("%s is %v, want %v", what, got[0], got[1])
		}
	}
	free, total, err := r.a.MemInfo()
	if free != 3 || total != 4 || err != nil {
		t.Errorf("MemInfo is %d, %d, %v", free, total, err)
	}
}

func TestQueryTellsBusyFromFaulted(t *testing.T) {
	r := newRig(t)
	r.fake.results["StreamQuery"] = ErrNotReady
	if done, err := r.stream.Query(); done || err != nil {
		t.Errorf("a busy stream is %t, %v", done, err)
	}
	r.fake.results["StreamQuery"] = ErrIllegalAddress
	if done, err := r.stream.Query(); done || err == nil {
		t.Errorf("a faulted stream is %t, %v", done, err)
	}
}

func TestBoundsAreCheckedBeforeTheDriver(t *testing.T) {
	const most = ^uint64(0)
	for name, call := range map[string]func(r *rig) error{
		"past the end":     func(r *rig) error { return r.stream.CopyPeer(r.to, 0, r.from, 1, 100) },
		"destination":      func(r *rig) error { return r.stream.CopyPeer(r.to, 11, r.from, 0, 90) },
		"offset wraps":     func(r *rig) error { return r.stream.CopyDtoD(r.from, most, r.from, 0, 2) },
		"size wraps":       func(r *rig) error { return r.stream.Memset(r.from, 1, most, 0) },
		"host destination": func(r *rig) error { return r.stream.CopyDtoH(r.host, 99, r.from, 0, 2) },
		"host source":      func(r *rig) error { return r.stream.CopyHtoD(r.from, 0, r.host, 101, 1) },
		"nothing":          func(r *rig) error { return r.stream.CopyHtoD(r.from, 0, r.host, 0, 0) },
		"closed":           func(r *rig) error { return r.stream.Memset(&Buffer{context: r.a, bytes: 100}, 0, 1, 0) },
		"closed host":      func(r *rig) error { return r.stream.CopyDtoH(&HostBuffer{bytes: 100}, 0, r.from, 0, 1) },
		"foreign kernel":   func(r *rig) error { s, _ := r.b.NewStream(); r.fake.last(); return s.Launch(r.fn, 1, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.fake.last()
			err := call(r)
			if err == nil || !strings.Contains(err.Error(), "cu") {
				t.Errorf("error is %v, want one that names the call", err)
			}
			if asked := r.fake.last(); asked != "" {
				t.Errorf("the driver was asked %q", asked)
			}
		})
	}
}

func TestErrorsNameOperationDeviceAndCode(t *testing.T) {
	r := newRig(t)
	r.b.Device().Slot = 5
	r.fake.results["EnablePeerAccess"] = ErrPeerAlreadyEnabled
	r.fake.results["Init"] = ErrSystemNotReady
	r.fake.results["MemAlloc"] = Result(12345)
	r.fake.results["PrimaryCtxRetain"] = ErrOutOfMemory
	_, alloc := r.a.Alloc(1)
	_, retain := r.b.Device().Retain()
	for _, c := range []struct {
		err  error
		code Result
		text string
	}{
		{r.b.EnablePeer(r.a), 704, "cuCtxEnablePeerAccess on gpu5: CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED (704): peer access is already enabled"},
		{r.driver.Init(), 802, "cuInit: CUDA_ERROR_SYSTEM_NOT_READY (802)"},
		{alloc, 12345, "cuMemAlloc on gpu0: CUresult(12345) (12345)"},
		{retain, 2, "cuDevicePrimaryCtxRetain on gpu5: CUDA_ERROR_OUT_OF_MEMORY (2)"},
	} {
		if code, ok := Code(fmt.Errorf("gpu0->gpu1: %w", c.err)); code != c.code || !ok || c.err.Error() != c.text {
			t.Errorf("error is %q with code %d, want %q", c.err, code, c.text)
		}
	}
	if code, ok := Code(io.EOF); ok || code != Success {
		t.Errorf("an error of no driver has code %d", code)
	}
	if code, ok := Code(nil); ok || code != Success {
		t.Errorf("no error has code %d", code)
	}
}

func TestContextThatCannotBeMadeCurrent(t *testing.T) {
	r := newRig(t)
	r.fake.last()
	r.fake.results["CtxSetCurrent"] = ErrInvalidContext
	err := r.stream.Synchronize()
	var e *Error
	if !errors.As(err, &e) || e.Op != "cuCtxSetCurrent" || e.Device != 0 {
		t.Errorf("error is %v", err)
	}
	if asked := r.fake.last(); asked != "" {
		t.Errorf("the driver was asked %q in another context", asked)
	}
}

func TestClosingTwiceFreesOnce(t *testing.T) {
	r := newRig(t)
	for _, c := range []io.Closer{r.stream, r.event, r.fn.module, r.host, r.from, r.a} {
		if err := c.Close(); err != nil {
			t.Errorf("%T: %v", c, err)
		}
		r.fake.last()
		if err := c.Close(); err != nil || r.fake.last() != "" {
			t.Errorf("%T: the second Close asked the driver again, or failed: %v", c, err)
		}
	}
}

func TestCloseReleasesTheContextsDevice(t *testing.T) {
	r := newRig(t)
	if err := r.b.Close(); err != nil {
		t.Fatal(err)
	}
	if got := r.fake.last(); !strings.HasSuffix(got, " PrimaryCtxRelease 11") {
		t.Errorf("the driver was asked %q", got)
	}
}

func TestHostBufferIsFreedWhereItCannotBeMapped(t *testing.T) {
	r := newRig(t)
	before := len(r.fake.memory)
	r.fake.results["MemHostGetDevicePointer"] = ErrNotSupported
	if _, err := r.a.AllocHost(8); err == nil || len(r.fake.memory) != before {
		t.Errorf("error is %v, %d buffers are left of %d", err, len(r.fake.memory), before)
	}
}

// Goroutines that work on two devices never see the other's context.
func TestAnyGoroutineMayCall(t *testing.T) {
	r := newRig(t)
	r.fake.last()
	var wg sync.WaitGroup
	for i := range 8 {
		c := []*Context{r.a, r.b}[i%2]
		wg.Go(func() {
			for range 200 {
				if err := c.EnablePeerFlags(c, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, call := range r.fake.calls {
		if call != "a0 EnablePeerAccess a0 0" && call != "b0 EnablePeerAccess b0 0" {
			t.Fatalf("a call ran in another context: %q", call)
		}
	}
}

func TestSticky(t *testing.T) {
	for r := range resultNames {
		want := r >= ErrHardwareStack && r <= ErrLaunchFailed ||
			slices.Contains([]Result{214, 220, 226, 700, 702, 710, 721, 810, 911}, r)
		if got := r.Sticky(); got != want {
			t.Errorf("%v.Sticky() is %t", r, got)
		}
	}
	if Result(12345).Sticky() {
		t.Error("a result that nobody knows is sticky")
	}
}

func TestNormalBusID(t *testing.T) {
	for id, want := range map[string]string{
		"0000:18:00.0":      "0000:18:00.0",
		"0000:3B:00.0":      "0000:3b:00.0",
		"00000000:CA:00.0":  "0000:ca:00.0",
		"0000:00:06":        "0000:00:06.0",
		"18:00.0":           "0000:18:00.0",
		"00010000:01:00.0":  "10000:01:00.0", // as Intel VMD numbers its domains
		"0008:06:1F.7":      "0008:06:1f.7",
		" 0000:18:00.0\n":   "0000:18:00.0",
		"":                  "",
		"gpu0":              "gpu0",
		"0000:18:20.0":      "0000:18:20.0", // no such device number
		"0000:18:00.8":      "0000:18:00.8",
		"0000:0000:18:00.0": "0000:0000:18:00.0",
		"0000:100:00.0":     "0000:100:00.0",
	} {
		if got := NormalBusID(id); got != want {
			t.Errorf("NormalBusID(%q) is %q, want %q", id, got, want)
		}
	}
}
