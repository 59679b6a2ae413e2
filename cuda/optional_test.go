package cuda

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// want compares the calls since the last look with those that a test expects.
func (r *rig) want(t *testing.T, calls ...string) {
	t.Helper()
	got := r.fake.all()
	for i, call := range got {
		if _, question, ok := strings.Cut(call, " DeviceAttribute "); ok {
			got[i] = "attribute " + question // of a device: any context may be current
		}
	}
	if !slices.Equal(got, calls) {
		t.Errorf("the driver was asked\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(calls, "\n  "))
	}
}

var (
	mapping = []string{
		"a0 MemGetAllocationGranularity {1 0 {1 10} 0 [0 0 0 0 0 0 0 0]} 0",
		"a0 MemAddressReserve 128 0 0 0",
		"a0 MemCreate 128 {1 0 {1 10} 0 [0 0 0 0 0 0 0 0]} 0",
		"a0 MemMap 50000 128 0 333 0",
		"a0 MemSetAccess 50000 128 [{{1 10} 3} {{1 11} 3}]",
	}
	unmapping = []string{"a0 MemUnmap 50000 128", "a0 MemRelease 333", "a0 MemAddressFree 50000 128"}
)

func TestAllocVMM(t *testing.T) {
	r := newRig(t)
	r.fake.all()
	b := must[*Buffer](t)(r.a.AllocVMM(100, r.b, r.a, r.b))
	r.want(t, slices.Concat([]string{"attribute 102 10"}, mapping)...)
	if b.Ptr() != 0x50000 || b.Bytes() != 100 || b.Context() != r.a {
		t.Errorf("buffer is %+v", b)
	}
	if err := errors.Join(b.Close(), b.Close()); err != nil {
		t.Error(err)
	}
	r.want(t, append([]string{"a0 CtxSynchronize "}, unmapping...)...)
}

// Whichever step fails, those before it are taken back.
func TestAllocVMMTakesBack(t *testing.T) {
	for i, step := range []string{"MemGetAllocationGranularity", "MemAddressReserve", "MemCreate", "MemMap", "MemSetAccess"} {
		r := newRig(t)
		r.fake.all()
		r.fake.results[step] = ErrOutOfMemory
		b, err := r.a.AllocVMM(100, r.b)
		if code, _ := Code(err); b != nil || code != ErrOutOfMemory || Unavailable(err) {
			t.Errorf("%s fails: %v, %v", step, b, err)
		}
		r.want(t, slices.Concat([]string{"attribute 102 10"}, mapping[:i+1], unmapping[3-max(0, i-1):])...)
	}
}

func TestAllocPool(t *testing.T) {
	pool := []string{
		"a0 StreamCreate 1",
		"a0 MemPoolCreate 1 0 {1 10} 0",
		"a0 MemPoolSetAccess c006 [{{1 11} 3}]",
		"a0 MemAllocFromPoolAsync 100 c006 c005",
		"a0 StreamSynchronize c005",
	}
	back := []string{"a0 MemFreeAsync 60000 c005", "a0 StreamSynchronize c005", "a0 MemPoolDestroy c006", "a0 StreamDestroy c005"}
	r := newRig(t)
	r.fake.all()
	b := must[*Buffer](t)(r.a.AllocPool(100, r.b))
	r.want(t, slices.Concat([]string{"attribute 115 10"}, pool)...)
	if b.Ptr() != 0x60000 || b.Bytes() != 100 {
		t.Errorf("buffer is %+v", b)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	r.want(t, append([]string{"a0 CtxSynchronize "}, back...)...)

	for i, step := range []string{"StreamCreate", "MemPoolCreate", "MemPoolSetAccess", "MemAllocFromPoolAsync"} {
		r := newRig(t)
		r.fake.results[step] = ErrOutOfMemory
		r.fake.all()
		if b, err := r.a.AllocPool(100, r.b); b != nil || err == nil {
			t.Errorf("%s fails: %v, %v", step, b, err)
		}
		undone := [][]string{nil, back[3:], back[2:], back[2:]}[i]
		r.want(t, slices.Concat([]string{"attribute 115 10"}, pool[:i+1], undone)...)
	}
}

func TestIPC(t *testing.T) {
	r := newRig(t)
	r.fake.all()
	handle := must[IPCHandle](t)(r.to.IPCHandle())
	r.want(t, "b0 IPCGetMemHandle 70000")
	text := must[[]byte](t)(handle.MarshalText())
	var read IPCHandle
	if err := read.UnmarshalText(text); err != nil || read != handle || len(text) != 128 {
		t.Errorf("%s reads as %x, %v", text, read, err)
	}
	b := must[*Buffer](t)(r.a.OpenIPC(read, 100))
	r.want(t, "a0 IPCOpenMemHandle 1..7 1")
	if err := r.stream.Memset(b, 99, 1, 5); err != nil {
		t.Error(err)
	}
	r.want(t, "a0 MemsetD8Async 80063 5 1 c001")
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	r.want(t, "a0 CtxSynchronize ", "a0 IPCCloseMemHandle 80000")
	for _, text := range []string{"", "00", strings.Repeat("0", 127), strings.Repeat("0", 129), strings.Repeat("x", 128)} {
		if err := read.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is a handle", text)
		}
	}
	_ = r.to.Close()
	if _, err := r.to.IPCHandle(); err == nil {
		t.Error("a closed buffer has a handle")
	}
}

func TestCapture(t *testing.T) {
	r := newRig(t)
	r.fake.all()
	g := must[*Graph](t)(r.stream.Capture(func() error { return r.stream.CopyPeer(r.to, 0, r.from, 0, 100) }))
	r.want(t, "a0 StreamBeginCapture c001 2", "a0 MemcpyPeerAsync 70000@b0 70000@a0 100 c001", "a0 StreamEndCapture c001",
		"a0 GraphInstantiate c005 0", "a0 GraphDestroy c005")
	if err := errors.Join(g.Launch(r.stream), g.Close(), g.Close()); err != nil {
		t.Error(err)
	}
	r.want(t, "a0 GraphLaunch c006 c001", "a0 GraphExecDestroy c006")
	if err := g.Launch(r.stream); err == nil {
		t.Error("a closed graph can be launched")
	}
	r.want(t)
}

// A capture is ended whatever becomes of it.
func TestCaptureEnds(t *testing.T) {
	begin, end, destroy := "a0 StreamBeginCapture c001 2", "a0 StreamEndCapture c001", "a0 GraphDestroy c005"
	mine := errors.New("mine")
	for _, c := range []struct {
		name   string
		fails  string
		record error
		calls  []string
	}{
		{"begin", "StreamBeginCapture", nil, []string{begin}},
		{"record", "", mine, []string{begin, end, destroy}},
		{"end", "StreamEndCapture", nil, []string{begin, end}},
		{"record and end", "StreamEndCapture", mine, []string{begin, end}},
		{"instantiate", "GraphInstantiate", nil, []string{begin, end, "a0 GraphInstantiate c005 0", destroy}},
		{"destroy", "GraphDestroy", nil, []string{begin, end, "a0 GraphInstantiate c005 0", destroy, "a0 GraphExecDestroy c006"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.fake.results[c.fails] = ErrInvalidValue
			r.fake.all()
			g, err := r.stream.Capture(func() error { return c.record })
			if g != nil || c.record != nil && !errors.Is(err, mine) {
				t.Errorf("graph %v, error %v", g, err)
			}
			if code, ok := Code(err); c.fails != "" && (!ok || code != ErrInvalidValue) {
				t.Errorf("error is %v, want the driver's", err)
			}
			r.want(t, c.calls...)
		})
	}
	r := newRig(t)
	r.fake.all()
	func() {
		defer func() {
			if recover() != "oh" {
				t.Error("the panic is lost")
			}
		}()
		_, _ = r.stream.Capture(func() error { panic("oh") })
	}()
	r.want(t, begin, end)
}

func TestCopy2D(t *testing.T) {
	r := newRig(t)
	r.fake.all()
	if err := r.stream.Copy2D(Rows{r.to, 5, 20}, Rows{r.from, 0, 30}, 10, 3); err != nil {
		t.Fatal(err)
	}
	r.want(t, "a0 Memcpy3DPeerAsync type 2 70005@b0 pitch 20 of 3 at 0 0 0 <- type 2 70000@a0 pitch 30 of 3 at 0 0 0 10x3x1 c001")
	// The last row needs no pitch after it.
	if err := r.stream.Copy2D(Rows{r.to, 50, 40}, Rows{r.from, 0, 90}, 10, 2); err != nil {
		t.Error(err)
	}
	r.fake.all()
	const most = ^uint64(0)
	for name, c := range map[string]struct {
		dst, src      Rows
		width, height uint64
	}{
		"past the end":      {Rows{r.to, 51, 40}, Rows{r.from, 0, 90}, 10, 2},
		"source":            {Rows{r.to, 0, 10}, Rows{r.from, 0, 91}, 10, 2},
		"rows overlap":      {Rows{r.to, 0, 10}, Rows{r.from, 0, 9}, 10, 2},
		"no rows":           {Rows{r.to, 0, 10}, Rows{r.from, 0, 10}, 10, 0},
		"no width":          {Rows{r.to, 0, 10}, Rows{r.from, 0, 10}, 0, 1},
		"height wraps":      {Rows{r.to, 0, 2}, Rows{r.from, 0, 10}, 1, most},
		"sum wraps":         {Rows{r.to, 0, most}, Rows{r.from, 0, most}, 2, 2},
		"closed":            {Rows{&Buffer{context: r.a, bytes: 100}, 0, 10}, Rows{r.from, 0, 10}, 10, 1},
		"offset after wrap": {Rows{r.to, most, 10}, Rows{r.from, 0, 10}, 10, 1},
	} {
		if err := r.stream.Copy2D(c.dst, c.src, c.width, c.height); err == nil {
			t.Errorf("%s: no error", name)
		}
		r.want(t)
	}
}

// Without one of its functions a call says what the driver lacks, and asks it
// for nothing else.
func TestUnavailable(t *testing.T) {
	capture := func(r *rig) error { _, err := r.stream.Capture(func() error { return nil }); return err }
	vmm := func(r *rig) error { _, err := r.a.AllocVMM(1); return err }
	pool := func(r *rig) error { _, err := r.a.AllocPool(1); return err }
	open := func(r *rig) error { _, err := r.a.OpenIPC(IPCHandle{}, 1); return err }
	calls := map[string]func(r *rig) error{
		"Memcpy3DPeerAsync":  func(r *rig) error { return r.stream.Copy2D(Rows{r.to, 0, 1}, Rows{r.from, 0, 1}, 1, 1) },
		"StreamBeginCapture": capture, "StreamEndCapture": capture, "GraphInstantiate": capture,
		"GraphLaunch": capture, "GraphExecDestroy": capture, "GraphDestroy": capture,
		"MemGetAllocationGranularity": vmm, "MemAddressReserve": vmm, "MemAddressFree": vmm, "MemCreate": vmm,
		"MemRelease": vmm, "MemMap": vmm, "MemUnmap": vmm, "MemSetAccess": vmm,
		"MemPoolCreate": pool, "MemPoolDestroy": pool, "MemPoolSetAccess": pool, "MemAllocFromPoolAsync": pool, "MemFreeAsync": pool,
		"IPCGetMemHandle":  func(r *rig) error { _, err := r.from.IPCHandle(); return err },
		"IPCOpenMemHandle": open, "IPCCloseMemHandle": open,
	}
	table := reflect.TypeFor[API]()
	for _, f := range functions(table) {
		if !f.optional {
			continue
		}
		name := table.Field(f.field).Name
		call, ok := calls[name]
		if !ok {
			t.Errorf("nobody needs %s", name)
			continue
		}
		r := newRig(t)
		r.fake.all()
		if err := call(r); err != nil {
			t.Errorf("with all functions: %v", err)
		}
		r.fake.all()
		reflect.ValueOf(r.driver.api).Elem().Field(f.field).SetZero()
		err := call(r)
		var e *UnavailableError
		if !Unavailable(fmt.Errorf("spec: %w", err)) || !errors.As(err, &e) || !e.TooOld {
			t.Errorf("without %s: %v", name, err)
		}
		r.want(t)
	}
	if Unavailable(nil) || Unavailable(errors.New("x")) || Unavailable(&Error{Code: ErrNotSupported}) {
		t.Error("other errors are unavailable")
	}
}

// A device whose attribute is 0 cannot, however new the driver is.
func TestUnavailableOnTheDevice(t *testing.T) {
	for name, call := range map[string]func(r *rig) error{
		"vmm":  func(r *rig) error { _, err := r.a.AllocVMM(1); return err },
		"pool": func(r *rig) error { _, err := r.a.AllocPool(1); return err },
	} {
		r := newRig(t)
		r.a.Device().Slot = 4
		r.fake.all()
		r.driver.api.DeviceAttribute = func(v *int32, _, _ int32) Result { *v = 0; return Success }
		err := call(r)
		var e *UnavailableError
		if !errors.As(err, &e) || e.TooOld || e.Device != 4 || !strings.HasSuffix(err.Error(), "not supported by gpu4") {
			t.Errorf("%s: %v", name, err)
		}
		r.want(t)
		r.driver.api.DeviceAttribute = func(*int32, int32, int32) Result { return ErrInvalidValue }
		if err := call(r); err == nil || Unavailable(err) {
			t.Errorf("%s: a question without an answer is %v", name, err)
		}
	}
}
