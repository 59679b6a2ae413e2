package sim

import (
	"fmt"
	"testing"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/kernels"
)

func TestAtomics(t *testing.T) {
	for _, c := range []struct {
		faults string
		a, b   int // a adds to b's memory, and so does b
		exact  bool
	}{
		{"", 0, 1, true},
		{"{kind: lost-update, pair: [0, 1]}", 0, 1, false},
		{"{kind: lost-update, pair: [0, 1]}", 1, 0, true},
		{"{kind: lost-update, pair: [0, 1]}", 2, 1, true},
		{"{kind: lost-update, pair: all}", 2, 1, false},
		{"{kind: stale, pair: [0, 1], engine: sm-write}", 0, 1, false},
		{"{kind: stale, pair: [0, 1], engine: sm-read}", 0, 1, true},
		{"{kind: corrupt, pair: [0, 1], offset: 2, bit: 4}", 0, 1, false},
		{"{kind: no-progress, pair: [0, 1], both: true}", 0, 1, true},
		{"{kind: private-mirror, pair: [0, 1]}", 0, 1, false},
		{"{kind: invisible-until-exit, pair: [0, 1]}", 0, 1, true},
	} {
		l := newLab(t, faulty(c.faults))
		l.enableAll()
		counter := l.alloc(c.b, 64)
		l.put(c.b, counter, 0, 1000)
		l.launchOn(l.streams[c.b], c.b, 4, 64, kernels.Add, uint64(counter.Ptr()), 10)
		l.launchOn(l.streams[c.a], c.a, 4, 64, kernels.Add, uint64(counter.Ptr()), 10)
		l.sync(c.a)
		got := l.get(c.b, counter, 0, 1)[0]
		if want := uint64(1000 + 2*4*64*10); got == want != c.exact || got > want+1<<40 {
			t.Errorf("%s: %d and %d add up to %d; exact is %d, wanted %v", c.faults, c.a, c.b, got, want, c.exact)
		}
	}
}

// faulty is three GPUs with a fault, or without where that is empty.
func faulty(fault string) string {
	if fault == "" {
		return node(gpus(3, "NVIDIA L40S"))
	}
	return three(fault)
}

func TestChase(t *testing.T) {
	const count, stride, seed = 1024, 256, 7
	l := newLab(t, hgx2)
	l.enableAll()
	b, out := l.alloc(1, count*stride), l.alloc(0, 64)
	l.launch(1, kernels.Chain, uint64(b.Ptr()), count, stride, seed)
	l.sync(1)
	for _, steps := range []uint64{0, 1, 5, count - 1, count, count + 3, 1e12 + 77} {
		l.launch(0, kernels.Chase, uint64(b.Ptr()), steps, uint64(out.Ptr()))
		want := uint64(b.Ptr()) + kernels.ChainAfter(seed, count, steps)*stride
		if got := l.get(0, out, 0, 1)[0]; got != want {
			t.Errorf("after %d steps %#x, want %#x", steps, got, want)
		}
	}
	l.launch(0, kernels.Chase, uint64(b.Ptr())+8, 2, uint64(out.Ptr())) // there is no link
	if got := code(l.streams[0].Synchronize()); got != cuda.ErrIllegalAddress {
		t.Errorf("a link to nowhere: %v", got)
	}
}

// TestLatencies measures loads and 16-byte copies over every kind of way.
func TestLatencies(t *testing.T) {
	pcie := func(more ...string) string { return node(append([]string{gpus(2, "NVIDIA L40S")}, more...)...) }
	for _, c := range []struct {
		name, text string
		want       latency
		a, b       int // b is host for pinned memory
	}{
		{"local", hgx2, latencies.local, 0, 0},
		{"host", hgx2, latencies.host, 0, host},
		{"NVLink", hgx2, latencies.nvlink, 0, 1},
		{"PIX", pcie("pcie-switches: [[0, 1]]"), latencies.pix, 1, 0},
		{"PHB", pcie(), latencies.phb, 0, 1},
		{"SYS", pcie("numa: [0, 1]"), latencies.sys, 0, 1},
		{"slow-latency", pcie("faults: [{kind: slow-latency, pair: [0, 1], factor: 3}]"), latency{3 * latencies.phb.load, 3 * latencies.phb.copy, 0}, 0, 1},
		{"slow-latency the other way", pcie("faults: [{kind: slow-latency, pair: [0, 1], factor: 3}]"), latencies.phb, 1, 0},
		{"slow does not touch it", pcie("faults: [{kind: slow, pair: [0, 1], factor: 0.3}]"), latencies.phb, 0, 1},
		{"links that are down", hgx2 + "faults: [{kind: links-down, gpu: 1, links: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]}]\n", latencies.phb, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, c.text)
			l.enableAll()
			s, out := l.streams[c.a], l.alloc(c.a, 64)
			var ptr uint64
			var copyIt func()
			if c.b == host {
				h := get1(l.ctx[0].AllocHost(64 << 10))(t)
				ptr = uint64(h.DevicePtr())
				copyIt = func() { l.must(s.CopyHtoD(out, 0, h, 0, 16)) }
			} else {
				b := l.alloc(c.b, 64<<10)
				ptr = uint64(b.Ptr())
				copyIt = func() { l.must(s.CopyPeer(b, 0, out, 0, 16)) }
			}
			l.launch(max(c.b, 0), kernels.Chain, ptr, 256, 256, 1)
			l.sync(max(c.b, 0))
			load := l.seconds(s, func() { l.launch(c.a, kernels.Chase, ptr, 1000, uint64(out.Ptr())) }) / 1000
			if !within(load, c.want.load, 0.001) {
				t.Errorf("a load takes %.0f ns, want %.0f", load*1e9, c.want.load*1e9)
			}
			small := l.seconds(s, func() {
				for range 10 {
					copyIt()
				}
			}) / 10
			if !within(small, c.want.copy, 0.002) {
				t.Errorf("a copy takes %.0f ns, want %.0f", small*1e9, c.want.copy*1e9)
			}
		})
	}
}

func TestChaseFaults(t *testing.T) {
	const count, stride = 64, 128
	for _, c := range []struct {
		faults string
		out    func(right uint64) uint64
	}{
		{"", func(right uint64) uint64 { return right }},
		{"{kind: stale, pair: [0, 1], engine: sm-read}", func(uint64) uint64 { return 99 }},
		{"{kind: stale, pair: [0, 1], engine: sm-write}", func(right uint64) uint64 { return right }},
		{"{kind: corrupt, pair: [0, 1], engine: sm-read, offset: 129, bit: 3}", func(right uint64) uint64 { return right ^ 1<<11 }},
		{"{kind: corrupt, pair: [0, 1], engine: sm-read, offset: 140}", func(right uint64) uint64 { return right }}, // no link is there
		{"{kind: corrupt, pair: [0, 1], engine: ce, offset: 129}", func(right uint64) uint64 { return right }},
	} {
		l := newLab(t, faulty(c.faults))
		l.enableAll()
		b, out := l.alloc(1, count*stride), l.alloc(0, 64)
		l.launch(1, kernels.Chain, uint64(b.Ptr()), count, stride, 1)
		l.sync(1)
		l.put(0, out, 0, 99)
		l.launch(0, kernels.Chase, uint64(b.Ptr()), count, uint64(out.Ptr()))
		if got, want := l.get(0, out, 0, 1)[0], c.out(uint64(b.Ptr())); got != want {
			t.Errorf("%s: %#x, want %#x", c.faults, got, want)
		}
	}
}

// checked is what kernel check finds.
func (l *lab) checked(gpu int, b *cuda.Buffer, bytes, kind, seed uint64) [3]uint64 {
	l.Helper()
	sum := l.alloc(gpu, 24)
	defer sum.Close()
	l.put(gpu, sum, 0, 0, ^uint64(0), 0)
	l.launch(gpu, kernels.CheckPattern, uint64(b.Ptr()), bytes, kind, seed, uint64(sum.Ptr()))
	return [3]uint64(l.get(gpu, sum, 0, 3))
}

var nothingWrong = [3]uint64{0, ^uint64(0), 0}

func TestMemoryPatterns(t *testing.T) {
	const bytes = 2<<20 + 4096 + 8 // several pieces, and an odd word
	l := newLab(t, node(gpus(2, "NVIDIA L40S"), "faults: [{kind: corrupt, gpu: 1, offset: 2MiB, bit: 7}]"))
	for gpu := range 2 {
		b := l.alloc(gpu, bytes)
		for kind := range uint64(kernels.TestKinds) {
			l.launch(gpu, kernels.TestPattern, uint64(b.Ptr()), bytes, kind, 5)
			want := nothingWrong
			if gpu == 1 {
				want = [3]uint64{1, 2 << 20, 1 << 7}
			}
			if got := l.checked(gpu, b, bytes, kind, 5); got != want {
				t.Errorf("gpu%d, kind %d: %v, want %v", gpu, kind, got, want)
			}
			words := l.get(gpu, b, 0, bytes/8)
			for i, w := range words {
				want := kernels.TestWord(kind, 5, uint64(b.Ptr())+8*uint64(i), uint64(i))
				if gpu == 1 && i == 2<<17*1 {
					want ^= 1 << 7
				}
				if w != want {
					t.Fatalf("gpu%d, kind %d: word %d is %#x, want %#x", gpu, kind, i, w, want)
				}
			}
			if got := l.checked(gpu, b, bytes, (kind+1)%kernels.TestKinds, 5); got[0] < bytes/16 || got[1] > 8 || got[2] == 0 {
				t.Errorf("gpu%d: kind %d read as the next: %v", gpu, kind, got)
			}
		}
		l.must(b.Close())
	}
	b := l.alloc(0, 64)
	l.launch(0, kernels.TestPattern, uint64(b.Ptr())+8, 16, 1, 0) // misaligned
	if code(l.streams[0].Synchronize()) == cuda.Success {
		t.Error("a misaligned pattern is written")
	}
}

func TestCheckAddsUp(t *testing.T) {
	l := newLab(t, hgx2)
	b, sum := l.alloc(0, 4096), l.alloc(0, 24)
	l.launch(0, kernels.TestPattern, uint64(b.Ptr()), 4096, kernels.TestCheckerboard, 0)
	l.sync(0)
	l.put(0, b, 256, 0x5555555555555554, 0xd555555555555555)
	l.put(0, sum, 0, 5, 1000, 2)
	l.launch(0, kernels.CheckPattern, uint64(b.Ptr()), 4096, kernels.TestCheckerboard, 0, uint64(sum.Ptr()))
	if got, want := fmt.Sprint(l.get(0, sum, 0, 3)), fmt.Sprint([]uint64{7, 256, 1<<63 | 1 | 2}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestProducts(t *testing.T) {
	for _, kind := range []uint64{kernels.ProductFP32, kernels.ProductTensor} {
		l := newLab(t, three("{kind: wrong-result, gpu: 1}"))
		for gpu := range 3 {
			out := l.alloc(gpu, 16)
			l.put(gpu, out, 0, 0, 0)
			s := l.streams[gpu]
			took := l.seconds(s, func() {
				l.launchOn(s, gpu, 284, kernels.ProductBlock, kernels.Product, kind, 10000, 3, 3, uint64(out.Ptr()))
			})
			got := l.get(gpu, out, 0, 2)
			want := uint64(284 * 256 * 8)
			if kind == kernels.ProductTensor {
				want = 284 * 8 * 1024 * 3
			}
			if got[1] != want || got[0] > 0 != (gpu == 1) || got[0] > want/100 {
				t.Errorf("kind %d, gpu%d: %v wrong of those checked; %d are", kind, gpu, got, want)
			}
			if took < 1e-4 || took > 1 {
				t.Errorf("kind %d takes %v s", kind, took)
			}
			l.put(gpu, out, 0, 0, 0)
			l.launchOn(s, gpu, 1, kernels.ProductBlock, kernels.Product, kind, 1, 3, 4, uint64(out.Ptr()))
			if got := l.get(gpu, out, 0, 2); got[0] == 0 || got[1] == 0 {
				t.Errorf("kind %d, gpu%d: compared with another seed, %v", kind, gpu, got)
			}
		}
	}
}

// TestPrivateMirror shows that what a GPU writes into another's memory is seen
// by it alone, until somebody else writes there.
func TestPrivateMirror(t *testing.T) {
	for _, h := range ways {
		l := newLab(t, three("{kind: private-mirror, pair: [0, 1]}"))
		l.enableAll()
		src, b, c := l.alloc(0, 8192), l.alloc(1, 8192), l.alloc(2, 8192)
		l.fill(0, src, 1)
		l.fill(1, b, 2)
		write := func(gpu int, dst *cuda.Buffer) {
			if h.isSM {
				l.launch(gpu, kernels.Copy, uint64(dst.Ptr())+1000, uint64(src.Ptr())+1000, 3000)
			} else {
				l.must(l.streams[gpu].CopyPeer(dst, 1000, src, 1000, 3000))
			}
			l.sync(gpu)
		}
		write(0, b)
		if n, _ := l.wrong(1, b, 2); n != 0 {
			t.Errorf("%s: the owner sees %d bytes of what was written", h.name, n)
		}
		if n, _ := l.wrong(2, b, 2); n != 0 {
			t.Errorf("%s: another GPU sees %d bytes of what was written", h.name, n)
		}
		if n, first := l.wrong(0, b, 2); !near(n, 3000) || first < 1000 || first > 1010 {
			t.Errorf("%s: the writer sees %d other bytes from %d, want 3000 from 1000", h.name, n, first)
		}
		l.launch(1, kernels.Fill, uint64(b.Ptr())+2000, 500, 1, 2000) // the owner, in the middle
		l.sync(1)
		if n, _ := l.wrong(0, b, 2); !near(n, 3000) {
			t.Errorf("%s: the writer sees %d other bytes then", h.name, n)
		}
		l.fill(1, b, 3)
		if n, _ := l.wrong(0, b, 3); n != 0 {
			t.Errorf("%s: %d bytes stay in the mirror when the owner writes", h.name, n)
		}
		l.fill(2, c, 4)
		write(0, c)
		if n, _ := l.wrong(2, c, 4); !near(n, 3000) {
			t.Errorf("%s: of another pair's, the owner sees %d bytes", h.name, n)
		}
		// Without access a copy goes through the host.
		l.must(l.ctx[0].DisablePeer(l.ctx[1]))
		l.must(l.streams[0].CopyPeer(b, 0, src, 0, 8192))
		l.sync(0)
		if n, _ := l.wrong(1, b, 1); n != 0 {
			t.Errorf("%s: a staged copy leaves %d wrong bytes", h.name, n)
		}
	}
}
