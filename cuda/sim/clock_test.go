package sim

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/kernels"
)

// TestRates compares each path with theory times efficiency, in GB/s.
func TestRates(t *testing.T) {
	const nv = 18 * 25 * 0.88
	cases := []struct {
		name string
		text string
		way  how
		a, b int
		want float64
	}{
		{"NVLink CE write", hgx2, ways[1], 0, 1, nv},
		{"NVLink CE read", hgx2, ways[0], 0, 1, nv},
		{"NVLink SM", hgx2, ways[3], 1, 0, nv * 0.8},
		{"links down at one end", hgx2 + "faults: [{kind: links-down, gpu: 1, links: [0, 5, 17]}]\n", ways[1], 0, 1, 15 * 25 * 0.88},
		{
			"links down at both ends of a switch", hgx2 + "faults: [{kind: links-down, gpu: 1, links: [0]}, {kind: links-down, gpu: 0, links: [1]}]\n",
			ways[1], 0, 1, 17 * 25 * 0.88,
		},
		{"PCIe 4 CE", pcie2, ways[1], 0, 1, 31.5 * 0.86},
		{"PCIe 4 SM", pcie2, ways[2], 0, 1, 31.5 * 0.86 * 0.8},
		{"a slower end", pcie2 + "faults: [{kind: pcie-link, gpu: 1, loaded: {gen: 3, width: 8}}]\n", ways[1], 0, 1, 15.75 / 2 * 0.86},
		{"across the sockets", pcie2 + "numa: [0, 1]\n", ways[1], 0, 1, 31.5 * 0.6},
		{"efficiency of the file", pcie2 + "numa: [0, 1]\nefficiency: {sys: 0.35}\n", ways[1], 0, 1, 31.5 * 0.35},
		{"B200", node(gpus(2, "NVIDIA B200"), "nvlink: {switch: {}}"), ways[1], 0, 1, 18 * 50 * 0.88},
		{"pairs", node(gpus(2, "NVIDIA H100 NVL"), "nvlink: {pairs: [{gpus: [0, 1], links: 12}]}"), ways[1], 0, 1, 300 * 0.88},
		{"a pair's link down at either end", node(gpus(2, "NVIDIA H100 NVL"), "nvlink: {pairs: [{gpus: [0, 1], links: 12}]}",
			"faults: [{kind: links-down, gpu: 0, links: [0]}, {kind: links-down, gpu: 1, links: [11]}]"), ways[1], 0, 1, 250 * 0.88},
		{"slow", hgx2 + "faults: [{kind: slow, pair: [0, 1], factor: 0.5, when: always}]\n", ways[0], 0, 1, nv / 2},
		{"slow the other way", hgx2 + "faults: [{kind: slow, pair: [0, 1], factor: 0.5}]\n", ways[0], 1, 0, nv},
		{"slow of another engine", hgx2 + "faults: [{kind: slow, pair: [0, 1], engine: sm, factor: 0.5}]\n", ways[0], 0, 1, nv},
		{"slow GPU", hgx2 + "faults: [{kind: slow, gpu: 1, factor: 0.25}]\n", ways[0], 0, 1, nv / 4},
		{"slow twice", hgx2 + "faults: [{kind: slow, gpu: 1, factor: 0.5}, {kind: slow, pair: all, factor: 0.5}]\n", ways[0], 0, 1, nv / 4},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := open(t, c.text, History{})
			r.enable(0, 1)
			r.enable(1, 0)
			from, to := c.way.ends(c.a, c.b)
			src, dst := r.alloc(from, 3<<19), r.alloc(to, 3<<19)
			for i, bytes := range []uint64{1 << 20, 3 << 19} {
				if got := r.rate(c.way, c.a, c.b, dst, src, bytes, 4); !within(got, c.want, 0.001) {
					t.Errorf("sample %d: %.3f GB/s, want %.3f", i, got, c.want)
				}
			}
		})
	}
}

func TestStagedRates(t *testing.T) {
	for _, c := range []struct {
		name, text string
		enable     bool
		want       float64
	}{
		{"no access", hgx2, false, 63 * 0.4},
		{"no path", pcie2 + "pcie-p2p: false\n", false, 31.5 * 0.4},
		{"a fault of the direct path does not count", hgx2 + "faults: [{kind: slow, pair: [0, 1], factor: 0.1}]\n", false, 63 * 0.4},
		{"a fault of the GPU does", hgx2 + "faults: [{kind: slow, gpu: 0, factor: 0.1}]\n", false, 63 * 0.04},
		{"staged-faster", pcie2 + "faults: [{kind: staged-faster, pair: [0, 1], factor: 1.5}]\n", false, 31.5 * 0.86 * 1.5},
	} {
		r := open(t, c.text, History{})
		src, dst := r.alloc(0, 1<<20), r.alloc(1, 1<<20)
		if got := r.rate(ways[1], 0, 1, dst, src, 1<<20, 2); !within(got, c.want, 0.001) {
			t.Errorf("%s: %.2f GB/s, want %.2f", c.name, got, c.want)
		}
	}
	// Access the other way round does not help.
	r := open(t, hgx2, History{})
	r.enable(1, 0)
	src, dst := r.alloc(0, 1<<20), r.alloc(1, 1<<20)
	if got := r.rate(ways[1], 0, 1, dst, src, 1<<20, 2); !within(got, 63*0.4, 0.001) {
		t.Errorf("access the other way: %.2f GB/s", got)
	}
}

func TestHostAndLocalRates(t *testing.T) {
	r := open(t, hgx2, History{})
	a, b := r.alloc(0, 1<<20), r.alloc(0, 1<<20)
	h := make([]byte, 1<<20)
	s, start, end := r.stream(0), r.event(0), r.event(0)
	time := func(op func() cuda.Result) float64 {
		t.Helper()
		r.on(0)
		r.ok(r.api.EventRecord(start, s))
		r.ok(op())
		r.ok(r.api.EventRecord(end, s))
		r.ok(r.api.EventSynchronize(end))
		return float64(1<<20) / r.elapsed(start, end) / 1e9
	}
	const local = 6016 * 3201e6 * 2 / 8 / 1e9 * 0.88
	for _, c := range []struct {
		name string
		want float64
		op   func() cuda.Result
	}{
		{"to the device", 63 * 0.87, func() cuda.Result { return r.api.MemcpyHtoDAsync(a, unsafe.Pointer(&h[0]), 1<<20, s) }},
		{"to the host", 63 * 0.87, func() cuda.Result { return r.api.MemcpyDtoHAsync(unsafe.Pointer(&h[0]), a, 1<<20, s) }},
		{"local copy", local / 2, func() cuda.Result { return r.api.MemcpyDtoDAsync(b, a, 1<<20, s) }},
		{"local SM copy", local / 2 * 0.8, func() cuda.Result { return r.launch(0, s, kernels.Copy, uint64(b), uint64(a), 1<<20) }},
		{"fill", local * 0.8, func() cuda.Result { return r.launch(0, s, kernels.Fill, uint64(b), 1<<20, 1, 0) }},
	} {
		if got := time(c.op); !within(got, c.want, 0.001) {
			t.Errorf("%s: %.2f GB/s, want %.2f", c.name, got, c.want)
		}
	}
	if got := time(func() cuda.Result { return r.launch(0, s, kernels.Load, uint64(a), 5_000_000) }); !within(got, float64(1<<20)/5e6, 0.001) {
		t.Errorf("a load of 5 ms: as if 1 MiB at %.3f GB/s", got)
	}
}

// samples measures n samples behind gates with warm-ups, as the suites do.
func (r *rig) samples(n int, h how, a, b int, dst, src cuda.DevicePtr, bytes uint64) []float64 {
	r.Helper()
	s, start, end := r.stream(a), r.event(a), r.event(a)
	var flag unsafe.Pointer
	r.ok(r.api.MemHostAlloc(&flag, 4, 3))
	r.ok(r.move(h, a, b, dst, src, bytes, s))
	r.ok(r.api.StreamSynchronize(s))
	var all []float64
	for range n {
		r.ok(r.launch(a, s, kernels.Gate, uint64(uintptr(flag)), 1e9))
		r.ok(r.move(h, a, b, dst, src, bytes, s)) // warm-up
		r.ok(r.api.EventRecord(start, s))
		for range 3 {
			r.ok(r.move(h, a, b, dst, src, bytes, s))
		}
		r.ok(r.api.EventRecord(end, s))
		r.ok(r.api.StreamSynchronize(s))
		all = append(all, float64(3*bytes)/r.elapsed(start, end)/1e9)
	}
	r.ok(r.api.MemFreeHost(flag))
	return all
}

func TestSlowSample(t *testing.T) {
	r := open(t, hgx2+"faults: [{kind: slow, pair: [0, 1], factor: 0.5, when: \"sample: 2\"}]\n", History{})
	r.enable(0, 1)
	r.enable(1, 0)
	src, dst := r.alloc(0, 1<<20), r.alloc(1, 1<<20)
	for _, spec := range []string{"bandwidth/write-ce[gpu0->gpu1]", "bandwidth/other"} {
		r.bundle.Annotate(spec)
		for i, got := range r.samples(5, ways[1], 0, 1, dst, src, 1<<20) {
			want := 18 * 25 * 0.88
			if i == 2 {
				want /= 2
			}
			if !within(got, want, 0.001) {
				t.Errorf("%s, sample %d: %.1f GB/s, want %.1f", spec, i, got, want)
			}
		}
	}
}

const noisy = `
version: 1
gpus: {count: 3, model: NVIDIA H200, memory: 4MiB}
nvlink: {version: 4, switch: {links: 18}}
`

// TestNoiseIsTheSame in any order of the specs and in a process of its own, and
// differs from spec to spec, pair to pair and sample to sample.
func TestNoiseIsTheSame(t *testing.T) {
	measure := func(text string, pairs [][2]int) map[string][]float64 {
		r := open(t, text, History{})
		r.enableAll()
		figures := map[string][]float64{}
		for _, p := range pairs {
			src, dst := r.alloc(p[0], 1<<20), r.alloc(p[1], 1<<20)
			spec := fmt.Sprintf("bandwidth/write-ce[gpu%d->gpu%d]", p[0], p[1])
			r.bundle.Annotate(spec)
			figures[spec] = r.samples(5, ways[1], p[0], p[1], dst, src, 1<<20)
		}
		return figures
	}
	all := measure(noisy, [][2]int{{0, 1}, {1, 0}, {0, 2}, {1, 2}})
	alone := measure(noisy, [][2]int{{1, 2}})
	backward := measure(noisy, [][2]int{{1, 2}, {0, 2}, {1, 0}, {0, 1}})
	other := measure(noisy+"seed: 2\n", [][2]int{{1, 2}})
	seen := map[float64]string{}
	for spec, figures := range all {
		if !slices.Equal(figures, backward[spec]) {
			t.Errorf("%s: %v, in another order %v", spec, figures, backward[spec])
		}
		for i, f := range figures {
			at := fmt.Sprintf("%s, sample %d", spec, i)
			if before := seen[f]; before != "" {
				t.Errorf("%s and %s: both %v", before, at, f)
			}
			seen[f] = at
			if !within(f, 396, 0.045) {
				t.Errorf("%s: %v GB/s, more than four standard deviations off", at, f)
			}
		}
	}
	spec := "bandwidth/write-ce[gpu1->gpu2]"
	if !slices.Equal(all[spec], alone[spec]) {
		t.Errorf("alone in its process: %v, else %v", alone[spec], all[spec])
	}
	if slices.Equal(other[spec], alone[spec]) {
		t.Error("another seed, the same noise")
	}
}

func TestNoiseHasItsDeviation(t *testing.T) {
	p := &process{file: parse(t, noisy+"noise: 0.02\n")}
	var sum, squares float64
	const n = 20000
	for i := range n {
		p.spec = fmt.Sprint("spec ", i)
		x := p.noise(sampleKey{1, 2, ceRead}, i%7) - 1
		sum += x
		squares += x * x
		if math.Abs(x) > 4*0.02+1e-12 {
			t.Fatalf("draw %d is %v", i, x)
		}
	}
	mean, deviation := sum/n, math.Sqrt(squares/n)
	if math.Abs(mean) > 0.001 || !within(deviation, 0.02, 0.05) {
		t.Errorf("mean %v, deviation %v; want 0 and 0.02", mean, deviation)
	}
}

// both measures two directions at once, and the sum of bytes over the time
// from the first start to the last end, in GB/s.
func (r *rig) both(a, b, c, d int, bytes uint64) (first, second, sum float64) {
	r.Helper()
	src1, dst1, src2, dst2 := r.alloc(a, bytes), r.alloc(b, bytes), r.alloc(c, bytes), r.alloc(d, bytes)
	s1, start1, end1 := r.stream(a), r.event(a), r.event(a)
	s2, end2 := r.stream(c), r.event(c)
	start2 := r.event(c)
	r.on(a)
	r.ok(r.api.EventRecord(start1, s1))
	r.on(c)
	r.ok(r.api.StreamWaitEvent(s2, start1, 0))
	r.ok(r.api.EventRecord(start2, s2))
	for range 3 {
		r.ok(r.move(ways[1], a, b, dst1, src1, bytes, s1))
	}
	for range 3 {
		r.ok(r.move(ways[1], c, d, dst2, src2, bytes, s2))
	}
	r.on(a)
	r.ok(r.api.EventRecord(end1, s1))
	r.on(c)
	r.ok(r.api.EventRecord(end2, s2))
	r.ok(r.api.StreamSynchronize(s2))
	r.on(a)
	r.ok(r.api.StreamSynchronize(s1))
	r.on(c)
	r.on(a)
	t1 := r.elapsed(start1, end1)
	r.on(c)
	t2 := r.elapsed(start2, end2)
	n := float64(3*bytes) / 1e9
	return n / t1, n / t2, 2 * n / max(t1, t2)
}

func TestBothWaysAtOnce(t *testing.T) {
	const nv = 18 * 25 * 0.88
	r := open(t, hgx2, History{})
	r.enable(0, 1)
	r.enable(1, 0)
	if _, _, sum := r.both(0, 1, 1, 0, 1<<20); !within(sum, 2*nv, 0.001) {
		t.Errorf("both ways %.1f GB/s, want %.1f", sum, 2*nv)
	}
	r = open(t, hgx2+"faults: [{kind: slow, pair: [0, 1], factor: 0.5, when: bidirectional}]\n", History{})
	r.enable(0, 1)
	r.enable(1, 0)
	one, other, _ := r.both(0, 1, 1, 0, 1<<20)
	// Once the other direction has ended, half is left, at full speed.
	if !within(one, nv/1.5, 0.001) || !within(other, nv, 0.001) {
		t.Errorf("slow both ways: %.1f and %.1f GB/s, want %.1f and %.1f", one, other, nv/1.5, nv)
	}
	src, dst := r.alloc(0, 1<<20), r.alloc(1, 1<<20)
	if got := r.rate(ways[1], 0, 1, dst, src, 1<<20, 3); !within(got, nv, 0.001) {
		t.Errorf("one way alone: %.1f GB/s, want %.1f", got, nv)
	}
}

func TestSlowBesideOtherPairs(t *testing.T) {
	const rate = 31.5 * 0.86
	r := open(t, node(gpus(4, "NVIDIA L40S"), "faults: [{kind: slow, pair: [0, 1], factor: 0.5, when: concurrent}]"), History{})
	r.enableAll()
	if one, other, _ := r.both(0, 1, 2, 3, 1<<20); !within(one, rate/1.5, 0.001) || !within(other, rate, 0.001) {
		t.Errorf("beside another pair: %.1f and %.1f GB/s", one, other)
	}
	if one, _, _ := r.both(0, 1, 1, 0, 1<<20); !within(one, rate, 0.001) {
		t.Errorf("beside its own other way: %.1f GB/s", one)
	}
}
