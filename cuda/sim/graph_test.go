package sim

import (
	"testing"

	"github.com/peerproof/peerproof/cuda"
)

func TestGraphs(t *testing.T) {
	l := newLab(t, hgx2)
	l.enableAll()
	src, dst := l.alloc(0, 8192), l.alloc(1, 8192)
	l.fill(0, src, 1)
	l.fill(1, dst, 2)
	g := get1(l.streams[0].Capture(func() error { return l.streams[0].CopyDtoD(dst, 0, src, 0, 8192) }))(t)
	if n, _ := l.wrong(1, dst, 2); n != 0 {
		t.Error("a copy had its effect while it was captured")
	}
	for seed := uint64(3); seed < 5; seed++ {
		l.fill(0, src, seed)
		l.must(g.Launch(l.streams[0]))
		l.sync(0)
		if n, _ := l.wrong(1, dst, seed); n != 0 {
			t.Errorf("launch %d: %d wrong", seed, n)
		}
	}
	took := l.seconds(l.streams[0], func() { l.must(g.Launch(l.streams[0])) })
	plain := l.seconds(l.streams[0], func() { l.must(l.streams[0].CopyPeer(dst, 0, src, 0, 8192)) })
	if took != plain || took <= 0 {
		t.Errorf("the graph took %v s, the copy %v", took, plain)
	}
	l.must(g.Close())
}

func TestGraphFaults(t *testing.T) {
	for _, c := range []struct {
		fault string
		a, b  int
		wrong uint64
		code  cuda.Result
	}{
		{"{kind: corrupt, pair: [0, 1], engine: ce-write, offset: 8191, bit: 2}", 0, 1, 1, 0},
		{"{kind: corrupt, pair: [0, 1], engine: ce-write, offset: 8191, bit: 2}", 1, 0, 0, 0},
		{"{kind: stale, pair: [0, 1], engine: ce, offset: 4096}", 0, 1, 4096, 0},
		{"{kind: stale, pair: [0, 1], engine: sm}", 0, 1, 0, 0},
		{"{kind: illegal-address, pair: [0, 1], engine: ce}", 0, 1, 0, cuda.ErrIllegalAddress},
	} {
		l := newLab(t, three(c.fault))
		l.enableAll()
		src, dst := l.alloc(c.a, 8192), l.alloc(c.b, 8192)
		l.fill(c.a, src, 1)
		l.fill(c.b, dst, 2)
		s := l.streams[c.a]
		g := get1(s.Capture(func() error { return s.CopyDtoD(dst, 0, src, 0, 8192) }))(t)
		l.must(g.Launch(s))
		if got := code(s.Synchronize()); got != c.code {
			t.Errorf("%s: %v, want %v", c.fault, got, c.code)
		}
		if c.code != cuda.Success {
			continue
		}
		if n, _ := l.wrong(c.b, dst, 1); !near(n, c.wrong) {
			t.Errorf("%s, %d to %d: %d wrong, want %d", c.fault, c.a, c.b, n, c.wrong)
		}
	}
}

func TestCaptureRefusesWaits(t *testing.T) {
	l := newLab(t, hgx2)
	s, other := l.streams[0], get1(l.ctx[0].NewStream())(t)
	e := get1(l.ctx[0].NewEvent(false))(t)
	for name, call := range map[string]func() error{
		"stream":  s.Synchronize,
		"context": l.ctx[0].Synchronize,
		"query":   func() error { _, err := s.Query(); return err },
		"event":   func() error { l.must(s.Record(e)); return e.Synchronize() },
		"another": func() error { l.must(s.Record(e)); return other.WaitEvent(e) },
		"outside": func() error { l.must(other.Record(e)); return s.WaitEvent(e) },
	} {
		var inside error
		g, err := s.Capture(func() error { inside = call(); return nil })
		if g != nil || code(err) != errCaptureInvalidated || inside == nil {
			t.Errorf("%s: graph %v, %v; inside %v", name, g, err, inside)
		}
		l.must(s.Synchronize()) // the stream works on
	}
	g := get1(s.Capture(func() error {
		l.must(s.Record(e))
		return s.WaitEvent(e) // of the same graph
	}))(t)
	l.must(g.Launch(s))
	l.must(s.Synchronize())
	if _, err := s.Capture(func() error {
		_, err := s.Capture(func() error { return nil })
		return err
	}); code(err) != errIllegalState {
		t.Errorf("capture in capture: %v", err)
	}
	r := open(t, hgx2, History{})
	r.want(r.api.StreamBeginCapture(0, 0), errCaptureUnsupported)
	r.want(r.api.StreamBeginCapture(r.stream(0), 3), cuda.ErrInvalidValue)
	var h uintptr
	r.want(r.api.StreamEndCapture(r.stream(0), &h), errIllegalState)
	r.want(r.api.GraphLaunch(5, 0), cuda.ErrInvalidHandle)
	r.want(r.api.GraphInstantiate(&h, 5, 0), cuda.ErrInvalidHandle)
	r.want(r.api.GraphDestroy(5), cuda.ErrInvalidHandle)
}

// TestGraphOfFreedMemory runs into what is freed since.
func TestGraphOfFreedMemory(t *testing.T) {
	l := newLab(t, hgx2)
	src, dst := l.alloc(0, 64), l.alloc(0, 64)
	s := l.streams[0]
	g := get1(s.Capture(func() error { return s.CopyDtoD(dst, 0, src, 0, 64) }))(t)
	l.must(src.Close())
	l.must(g.Launch(s))
	if got := code(s.Synchronize()); got != cuda.ErrIllegalAddress {
		t.Errorf("got %v, want 700", got)
	}
}

func TestCopyRows(t *testing.T) {
	l := newLab(t, hgx2)
	l.enableAll()
	src, dst := l.alloc(0, 64<<10), l.alloc(1, 64<<10)
	l.fill(0, src, 1)
	l.fill(1, dst, 2)
	s := l.streams[0]
	l.must(s.Copy2D(cuda.Rows{Buffer: dst, Offset: 16, Pitch: 256}, cuda.Rows{Buffer: src, Offset: 24, Pitch: 512}, 96, 100))
	l.sync(0)
	got, was := l.get(1, dst, 0, 8<<10), make([]byte, 64<<10)
	fillPattern(was, 2, 0)
	from := make([]byte, 64<<10)
	fillPattern(from, 1, 0)
	for y := range 100 {
		copy(was[16+256*y:][:96], from[24+512*y:])
	}
	for i, w := range got {
		if want := get(was[8*i:]); w != want {
			t.Fatalf("word %d: %#x, want %#x", i, w, want)
		}
	}
	took := l.seconds(s, func() {
		l.must(s.Copy2D(cuda.Rows{Buffer: dst, Pitch: 32 << 10}, cuda.Rows{Buffer: src, Pitch: 32 << 10}, 32<<10, 2))
	})
	if want := latencies.nvlink.copy; !within(took, want, 0.001) {
		t.Errorf("64 KiB took %v s, want %v", took, want)
	}
}

func TestCopyRowsFaults(t *testing.T) {
	l := newLab(t, three("{kind: corrupt, pair: [0, 1], engine: ce, offset: 1000, bit: 0}", "{kind: stale, pair: [1, 2], engine: ce, offset: 2048}"))
	l.enableAll()
	for _, c := range []struct {
		a, b         int
		wrong, first uint64
	}{{0, 1, 1, 1000}, {1, 2, 2048, 2048}, {1, 0, 0, ^uint64(0)}, {0, 2, 0, ^uint64(0)}} {
		src, dst := l.alloc(c.a, 4096), l.alloc(c.b, 4096)
		l.fill(c.a, src, 1)
		l.fill(c.b, dst, 2)
		l.must(l.streams[c.a].Copy2D(cuda.Rows{Buffer: dst, Pitch: 64}, cuda.Rows{Buffer: src, Pitch: 64}, 64, 64))
		l.sync(c.a)
		if n, first := l.wrong(c.b, dst, 1); !near(n, c.wrong) || first != c.first {
			t.Errorf("%d to %d: %d wrong from %d, want %d from %d", c.a, c.b, n, first, c.wrong, c.first)
		}
	}
}

func TestRowsOutOfMemoryAreRefused(t *testing.T) {
	r := open(t, hgx2, History{})
	p, q := r.alloc(0, 4096), r.alloc(1, 4096)
	good := func() cuda.Memcpy3DPeer {
		end := func(p cuda.DevicePtr, c uintptr) cuda.Memcpy3DEnd {
			return cuda.Memcpy3DEnd{MemoryType: cuda.MemoryTypeDevice, Device: p, Context: c, Pitch: 64, PlaneHeight: 16}
		}
		return cuda.Memcpy3DPeer{Src: end(p, r.ctx[0]), Dst: end(q, r.ctx[1]), WidthInBytes: 32, Height: 8, Depth: 2}
	}
	for name, spoil := range map[string]func(*cuda.Memcpy3DPeer){
		"wider than the pitch":    func(c *cuda.Memcpy3DPeer) { c.WidthInBytes = 65 },
		"beyond the end":          func(c *cuda.Memcpy3DPeer) { c.Depth = 5 },
		"higher than the plane":   func(c *cuda.Memcpy3DPeer) { c.Height = 17 },
		"host memory":             func(c *cuda.Memcpy3DPeer) { c.Dst.MemoryType = 1 },
		"another GPU's context":   func(c *cuda.Memcpy3DPeer) { c.Dst.Context = r.ctx[0] },
		"an address that is none": func(c *cuda.Memcpy3DPeer) { c.Src.Device = 77 },
		"far away":                func(c *cuda.Memcpy3DPeer) { c.Src.Pitch, c.Src.Z = 1<<40, 1<<40 },
	} {
		c := good()
		spoil(&c)
		if got := r.api.Memcpy3DPeerAsync(&c, 0); got != cuda.ErrInvalidValue {
			t.Errorf("%s: %v", name, got)
		}
	}
	c := good()
	r.ok(r.api.Memcpy3DPeerAsync(&c, 0))
	c.Src.Context = 3
	r.want(r.api.Memcpy3DPeerAsync(&c, 0), cuda.ErrInvalidContext)
	r.want(r.api.Memcpy3DPeerAsync(nil, 0), cuda.ErrInvalidValue)
	r.ok(r.api.CtxSynchronize())
}

func TestPeerCopyCannotBeCaptured(t *testing.T) {
	l := newLab(t, hgx2)
	src, dst := l.alloc(0, 8192), l.alloc(1, 8192)
	_, err := l.streams[0].Capture(func() error { return l.streams[0].CopyPeer(dst, 0, src, 0, 8192) })
	if code, _ := cuda.Code(err); code != errCaptureUnsupported {
		t.Errorf("capturing a peer copy: %v, want %d as on a real driver", err, errCaptureUnsupported)
	}
}
