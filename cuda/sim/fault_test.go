package sim

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"unsafe"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/kernels"
)

// three is a node of three GPUs with faults.
func three(faults ...string) string {
	return node(gpus(3, "NVIDIA L40S"), "faults:", "  - "+strings.Join(faults, "\n  - "))
}

// enableAll lets every device reach every other.
func (r *rig) enableAll() {
	r.Helper()
	for a := range r.ctx {
		for b := range r.ctx {
			if a != b {
				r.enable(a, b)
			}
		}
	}
}

// TestDataFaults shows each fault in the pair and engine that it is of, and in
// no other.
func TestDataFaults(t *testing.T) {
	const bytes = 4096
	cases := []struct {
		fault string
		hits  func(h how, a, b int) bool
		wrong uint64
		first uint64
	}{
		{"{kind: stale, pair: [0, 1]}", func(_ how, a, b int) bool { return a == 0 && b == 1 }, bytes, 0},
		{"{kind: stale, pair: [0, 1], both: true, engine: ce}", func(h how, a, b int) bool { return h.class&ce != 0 && a+b == 1 }, bytes, 0},
		{"{kind: stale, pair: [2, 0], engine: sm-write, offset: 4000}", func(h how, a, b int) bool { return h.class == smWrite && a == 2 && b == 0 }, 96, 4000},
		{"{kind: stale, pair: all, engine: ce-read, offset: 1KiB}", func(h how, _, _ int) bool { return h.class == ceRead }, 3072, 1024},
		{"{kind: corrupt, pair: [1, 2], offset: 77, bit: 3}", func(_ how, a, b int) bool { return a == 1 && b == 2 }, 1, 77},
		{"{kind: corrupt, pair: [1, 2], engine: sm}", func(h how, a, b int) bool { return h.class&sm != 0 && a == 1 && b == 2 }, 1, 0},
		{"{kind: corrupt, pair: [1, 2], offset: 4096}", func(how, int, int) bool { return false }, 0, 0},
	}
	for _, c := range cases {
		t.Run(c.fault, func(t *testing.T) {
			r := open(t, three(c.fault), History{})
			r.enableAll()
			for _, h := range ways {
				for a := range 3 {
					for b := range 3 {
						if a == b {
							continue
						}
						wrong, first, result := r.moved(h, a, b, bytes)
						want := uint64(0)
						if c.hits(h, a, b) {
							want = c.wrong
						}
						if result != cuda.Success || !near(wrong, want) {
							t.Errorf("%s of %d on %d: %d wrong bytes (%v), want %d", h.name, a, b, wrong, result, want)
						} else if want > 0 && first != c.first {
							t.Errorf("%s of %d on %d: first wrong byte at %d, want %d", h.name, a, b, first, c.first)
						}
					}
				}
			}
		})
	}
}

// near allows for old bytes that happen to be the new ones: one in 256.
func near(got, want uint64) bool { return got == want || want > 64 && got <= want && got > want*95/100 }

func TestStaleKeepsTheOldBytes(t *testing.T) {
	r := open(t, three("{kind: stale, pair: [0, 1], engine: ce-write, offset: 100}"), History{})
	src, dst := r.alloc(0, 4096), r.alloc(1, 4096)
	r.fill(0, src, 4096, 1)
	r.fill(1, dst, 4096, 2)
	// Offsets count from the start of the allocation, wherever a copy begins.
	r.ok(r.move(ways[1], 0, 1, dst+50, src+50, 100, 0))
	r.on(0)
	r.ok(r.api.CtxSynchronize())
	var got [4096]byte
	r.on(1)
	r.ok(r.api.MemcpyDtoHAsync(unsafe.Pointer(&got), dst, 4096, 0))
	for i, b := range got {
		seed := uint64(2)
		if i >= 50 && i < 100 {
			seed = 1
		}
		if want := kernels.Pattern(seed, uint64(i)); b != want {
			t.Fatalf("byte %d: got %#x, want %#x", i, b, want)
		}
	}
}

func TestStaleFirstOnly(t *testing.T) {
	text := three("{kind: stale, pair: [0, 1], both: true, engine: ce, first-only: true}")
	for range 2 { // each process has a first
		r := open(t, text, History{Started: []string{"transfer/first[gpu0->gpu1]"}})
		for i, want := range []uint64{4096, 0, 0} {
			if wrong, _, _ := r.moved(ways[1], 0, 1, 4096); !near(wrong, want) {
				t.Errorf("copy %d: %d wrong, want %d", i, wrong, want)
			}
		}
		if wrong, _, _ := r.moved(ways[1], 1, 0, 4096); !near(wrong, 4096) {
			t.Errorf("first copy the other way: %d wrong", wrong)
		}
	}
}

func TestCorruptMemory(t *testing.T) {
	r := open(t, three("{kind: corrupt, gpu: 1, offset: 300, bit: 7}"), History{})
	pad, p := r.alloc(1, 100), r.alloc(1, 256) // p begins at 256
	r.fill(1, pad, 100, 1)
	r.fill(1, p, 256, 1)
	if wrong, first := r.check(1, p, 256, 1); wrong != 1 || first != 44 {
		t.Errorf("%d wrong, first at %d; want 1 at 44", wrong, first)
	}
	if !r.holds(1, pad, 100, 1) {
		t.Error("memory beside is wrong too")
	}
	q := r.alloc(0, 512)
	r.fill(0, q, 512, 1)
	if !r.holds(0, q, 512, 1) {
		t.Error("memory of another GPU is wrong too")
	}
}

func TestCorruptReadsOfMemory(t *testing.T) {
	r := open(t, three("{kind: corrupt, gpu: 1, engine: ce-read, offset: 10}"), History{})
	r.enableAll()
	p := r.alloc(1, 256)
	r.fill(1, p, 256, 1)
	if !r.holds(1, p, 256, 1) {
		t.Error("the memory itself is wrong")
	}
	q := r.alloc(0, 256)
	r.ok(r.move(ways[0], 0, 1, q, p, 256, 0))
	if wrong, first := r.check(0, q, 256, 1); wrong != 1 || first != 10 {
		t.Errorf("%d wrong, first at %d; want 1 at 10", wrong, first)
	}
}

func TestVerifyThroughAMappingSeesItsFaults(t *testing.T) {
	r := open(t, three("{kind: corrupt, pair: [0, 1], engine: sm-read, offset: 9}", "{kind: stale, pair: [2, 1], engine: sm-read}"), History{})
	r.enableAll()
	p := r.alloc(1, 1024)
	r.fill(1, p, 1024, 3)
	if wrong, first := r.check(0, p, 1024, 3); wrong != 1 || first != 9 {
		t.Errorf("through the corrupting mapping: %d wrong, first at %d", wrong, first)
	}
	if wrong, _ := r.check(2, p, 1024, 3); !near(wrong, 1024) {
		t.Errorf("through the stale mapping: %d wrong", wrong)
	}
	if !r.holds(1, p, 1024, 3) {
		t.Error("the owner sees faults of the mapping")
	}
}

func TestAccessFaults(t *testing.T) {
	r := open(t, three("{kind: no-access, pair: [0, 1]}", "{kind: enable-fails, pair: [1, 2], error: 46}",
		"{kind: bad-error, pair: [2, 0], return: 1}"), History{})
	for _, c := range []struct{ a, b, can int32 }{{0, 1, 0}, {1, 0, 1}, {1, 2, 1}, {2, 1, 1}, {2, 0, 1}, {0, 2, 1}} {
		var can int32
		r.ok(r.api.CanAccessPeer(&can, c.a, c.b))
		if can != c.can {
			t.Errorf("%d can access %d: %d, want %d", c.a, c.b, can, c.can)
		}
	}
	r.on(0)
	r.want(r.api.EnablePeerAccess(r.ctx[1], 0), cuda.ErrPeerAccessUnsupported)
	r.on(1)
	r.want(r.api.EnablePeerAccess(r.ctx[2], 0), cuda.ErrDeviceUnavailable)
	r.ok(r.api.EnablePeerAccess(r.ctx[0], 0))
	r.want(r.api.EnablePeerAccess(r.ctx[0], 0), cuda.ErrPeerAlreadyEnabled)
	r.enable(2, 0)
	r.want(r.api.EnablePeerAccess(r.ctx[0], 0), cuda.ErrInvalidValue)
	r.ok(r.api.EnablePeerAccess(r.ctx[1], 0))
	r.want(r.api.EnablePeerAccess(r.ctx[1], 0), cuda.ErrPeerAlreadyEnabled)
}

func TestLeakyAccess(t *testing.T) {
	r := open(t, three("{kind: leaky-access, pair: [0, 1]}"), History{})
	for _, h := range ways[2:] {
		if wrong, _, result := r.moved(h, 0, 1, 256); wrong != 0 || result != cuda.Success {
			t.Errorf("%s: %d wrong, %v", h.name, wrong, result)
		}
	}
	if _, _, result := r.moved(ways[2], 1, 0, 256); result != cuda.ErrIllegalAddress {
		t.Errorf("the other way: %v, want 700", result)
	}
}

func TestTooManyPeers(t *testing.T) {
	r := open(t, node(gpus(4, "NVIDIA L40S"), "faults: [{kind: too-many-peers, limit: 2}]"), History{})
	r.enable(0, 1)
	r.enable(0, 2)
	r.want(r.api.EnablePeerAccess(r.ctx[3], 0), cuda.ErrTooManyPeers)
	r.ok(r.api.DisablePeerAccess(r.ctx[1]))
	r.ok(r.api.EnablePeerAccess(r.ctx[3], 0))
	r.enable(1, 0)
}

func TestTooManyPeersAtEitherEnd(t *testing.T) {
	r := open(t, node(gpus(4, "NVIDIA L40S"), "faults: [{kind: too-many-peers, limit: 2, both: true}]"), History{})
	r.enable(0, 1)
	r.enable(0, 2)
	r.enable(1, 0) // on the same connection
	r.ok(r.api.CtxSetCurrent(r.ctx[3]))
	r.want(r.api.EnablePeerAccess(r.ctx[0], 0), cuda.ErrTooManyPeers)
	r.ok(r.api.CtxSetCurrent(r.ctx[0]))
	r.want(r.api.EnablePeerAccess(r.ctx[3], 0), cuda.ErrTooManyPeers)
	r.ok(r.api.DisablePeerAccess(r.ctx[1]))
	r.want(r.api.EnablePeerAccess(r.ctx[3], 0), cuda.ErrTooManyPeers) // the other direction is left
	r.ok(r.api.CtxSetCurrent(r.ctx[1]))
	r.ok(r.api.DisablePeerAccess(r.ctx[0]))
	r.enable(0, 3)
}

func TestInjectedIllegalAddress(t *testing.T) {
	r := open(t, three("{kind: illegal-address, pair: [0, 1], engine: ce-write}"), History{})
	r.enableAll()
	for _, c := range []struct {
		h    how
		a, b int
	}{{ways[0], 0, 1}, {ways[3], 0, 1}, {ways[1], 1, 0}, {ways[1], 0, 2}} {
		if _, _, result := r.moved(c.h, c.a, c.b, 256); result != cuda.Success {
			t.Fatalf("%s of %d on %d: %v", c.h.name, c.a, c.b, result)
		}
	}
	if _, _, result := r.moved(ways[1], 0, 1, 256); result != cuda.ErrIllegalAddress {
		t.Errorf("got %v, want 700", result)
	}
	r.want(r.api.CtxSynchronize(), cuda.ErrIllegalAddress)
}

func TestStartFaults(t *testing.T) {
	text := three("{kind: cuda-init, error: 802}")
	api, err := parse(t, text).Open(History{}).OpenCUDA()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{TB: t, api: api}
	r.want(api.Init(0), cuda.ErrSystemNotReady)
	var n int32
	r.want(api.DeviceGetCount(&n), cuda.ErrNotInitialized)

	api, err = parse(t, three("{kind: context, gpu: 2, error: 46}")).Open(History{}).OpenCUDA()
	if err != nil {
		t.Fatal(err)
	}
	r = &rig{TB: t, api: api}
	r.ok(api.Init(0))
	var c uintptr
	r.want(api.PrimaryCtxRetain(&c, 2), cuda.ErrDeviceUnavailable)
	r.ok(api.PrimaryCtxRetain(&c, 1))
}

func TestAnExclusiveGPUTakesOneProcess(t *testing.T) {
	f := parse(t, three("{kind: compute-mode, gpu: 2, mode: exclusive-process}"))
	another := func() *rig {
		api, err := f.Open(History{}).OpenCUDA()
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{TB: t, api: api}
		r.ok(api.Init(0))
		return r
	}
	one, two := another(), another()
	var c uintptr
	one.ok(one.api.PrimaryCtxRetain(&c, 2))
	one.ok(one.api.PrimaryCtxRetain(&c, 2)) // the same process may again
	two.want(two.api.PrimaryCtxRetain(&c, 2), cuda.ErrDeviceUnavailable)
	two.ok(two.api.PrimaryCtxRetain(&c, 1))
	one.ok(one.api.PrimaryCtxRelease(2))
	one.ok(one.api.PrimaryCtxRelease(2))
	two.ok(two.api.PrimaryCtxRetain(&c, 2))
	two.ok(two.api.PrimaryCtxRelease(2))
}

func TestLostGPU(t *testing.T) {
	r := open(t, three("{kind: lost, gpu: 1, after: transfer/}"), History{})
	src, dst := r.alloc(1, 64), r.alloc(0, 64)
	copyIt := func() cuda.Result {
		return r.api.MemcpyPeerAsync(dst, r.ctx[0], src, r.ctx[1], 64, 0)
	}
	r.bundle.Annotate("dereference/read[gpu0->gpu1]")
	r.bundle.Annotate("transfer/first[gpu0->gpu2]")
	r.on(0)
	r.ok(copyIt()) // it is lost once that spec is over
	r.bundle.Annotate("transfer/first[gpu2->gpu0]")
	r.want(copyIt(), cuda.ErrUnknown)
	r.want(r.api.CtxSetCurrent(r.ctx[1]), cuda.ErrUnknown)
	r.want(r.api.EnablePeerAccess(r.ctx[1], 0), cuda.ErrUnknown)
	var can int32
	var name [8]byte
	r.want(r.api.CanAccessPeer(&can, 0, 1), cuda.ErrUnknown)
	r.want(r.api.DeviceGetName(&name[0], 8, 1), cuda.ErrUnknown)
	r.ok(r.api.DeviceGetCount(&can))
	if can != 3 {
		t.Errorf("%d devices, want 3", can)
	}
	r.on(2)
	r.ok(r.api.CtxSynchronize()) // the others work

	for _, c := range []struct {
		started []string
		lost    bool
	}{{nil, false}, {[]string{"inventory/model[gpu1]"}, false}, {[]string{"inventory/model[gpu1]", "transfer/first[gpu0->gpu1]"}, true}} {
		f := parse(t, three("{kind: lost, gpu: 1, after: transfer/}"))
		api, err := f.Open(History{Started: c.started}).OpenCUDA()
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{TB: t, api: api}
		r.ok(api.Init(0))
		if got := api.DeviceGetName(&name[0], 8, 1) != cuda.Success; got != c.lost {
			t.Errorf("after %v: lost is %v", c.started, got)
		}
	}
}

func TestXidInTheLog(t *testing.T) {
	r := open(t, hgx2, History{})
	log, err := r.bundle.Host.KernelLog()
	if err != nil {
		t.Fatal(err)
	}
	lib := r.bundle.NVML
	must(t, lib.Init())
	set, ret := lib.EventSetCreate()
	must(t, ret)
	dev, ret := lib.DeviceGetHandleByIndex(0)
	must(t, ret)
	must(t, dev.RegisterEvents(8, set))
	if _, ret := set.Wait(1); ret.Error() != "ERROR_TIMEOUT" {
		t.Errorf("an event before anything happened: %v", ret)
	}
	r.ok(r.launch(0, 0, kernels.Fill, 64, 64, 1, 0))
	line := make([]byte, 400)
	n, err := log.Read(line)
	if err != nil || !strings.Contains(string(line[:n]), "NVRM: Xid (PCI:0000:18:00): 31, pid=") {
		t.Errorf("kernel log %q, %v", line[:n], err)
	}
	event, ret := set.Wait(1000)
	must(t, ret)
	if event.EventData != 31 {
		t.Errorf("event %d, want 31", event.EventData)
	}
	must(t, set.Free())
	go func() { _ = log.Close() }()
	if _, err := log.Read(line); !errors.Is(err, fs.ErrClosed) || errors.Is(err, io.EOF) {
		t.Errorf("after Close: %v", err)
	}
	denied := parse(t, node(gpus(1, "NVIDIA L4"), "environment: {kernel-log: denied}")).Open(History{})
	if _, err := denied.Host.KernelLog(); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("denied log: %v", err)
	}
}

func TestDriverFaults(t *testing.T) {
	none := parse(t, node(gpus(2, "NVIDIA L40S"), "driver: none")).Open(History{})
	if _, err := none.OpenCUDA(); err == nil || !strings.Contains(err.Error(), "libcuda.so.1") {
		t.Errorf("no driver: %v", err)
	}
	other := parse(t, node(gpus(2, "NVIDIA L40S"), "driver: {version: 580.95.05, kernel-module: 570.10.01}")).Open(History{})
	api, err := other.OpenCUDA()
	if err != nil {
		t.Fatal(err)
	}
	(&rig{TB: t, api: api}).want(api.Init(0), cuda.ErrSystemDriverMismatch)
	missing := parse(t, node(gpus(1, "NVIDIA L4"), "driver: {missing-symbols: [cuMemcpyPeerAsync, cuStreamQuery]}")).Open(History{})
	_, err = missing.OpenCUDA()
	var e *cuda.MissingSymbolsError
	if !errors.As(err, &e) || fmt.Sprint(e.Symbols) != "[cuMemcpyPeerAsync cuStreamQuery]" {
		t.Errorf("missing symbols: %v", err)
	}
}
