package sim

import (
	"testing"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/kernels"
)

// TestSharedPorts shows that what goes into, or out of, one GPU at once shares
// its links.
func TestSharedPorts(t *testing.T) {
	pcie := node(gpus(4, "NVIDIA L40S"))
	for _, c := range []struct {
		name, text string
		scale      float64 // of the PCIe that flows counts in
		flows      []flow
		want       []float64
	}{
		{"into one", pcie, 1, []flow{{0, 3, 4}, {1, 3, 4}, {2, 3, 4}}, []float64{12, 12, 12}},
		{"out of one", pcie, 1, []flow{{3, 0, 4}, {3, 1, 4}}, []float64{8, 8}},
		{"one ends before", pcie, 1, []flow{{0, 3, 2}, {1, 3, 4}}, []float64{4, 6}},
		{"in and out", pcie, 1, []flow{{0, 3, 4}, {3, 1, 4}}, []float64{4, 4}},
		{"apart", pcie, 1, []flow{{0, 1, 4}, {2, 3, 4}}, []float64{4, 4}},
		{"twice the same way", pcie, 1, []flow{{0, 1, 4}, {0, 1, 4}}, []float64{8, 8}},
		{"a slow one leaves more", pcie + "faults: [{kind: slow, pair: [0, 3], factor: 0.25}]\n", 1, []flow{{0, 3, 4}, {1, 3, 12}}, []float64{19, 15}},
		{
			"into one over switches", node(gpus(4, "NVIDIA H200"), "nvlink: {switch: {}}"), 450 * 0.88 / (31.5 * 0.86),
			[]flow{{0, 3, 4}, {1, 3, 4}, {2, 3, 4}},
			[]float64{12, 12, 12},
		},
		{
			"into one over NVLinks of its own", node(gpus(4, "NVIDIA H100 NVL"), "nvlink: {pairs: [{gpus: [0, 3], links: 6}, {gpus: [1, 3], links: 6}]}"),
			150 * 0.88 / (31.5 * 0.86),
			[]flow{{0, 3, 4}, {1, 3, 4}},
			[]float64{4, 4},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, c.text)
			l.enableAll()
			for i, got := range l.flows(c.flows) {
				if got *= c.scale; !within(got, c.want[i], 0.001) {
					t.Errorf("flow %v took %.3f copies, want %.3f", c.flows[i], got, c.want[i])
				}
			}
		})
	}
}

// TestLoadsComeFromTheirOwner shows in which direction the bytes of loads and
// stores go.
func TestLoadsComeFromTheirOwner(t *testing.T) {
	const bytes = 1 << 20
	for kernel, want := range map[string]struct{ out, in float64 }{
		kernels.Verify: {out: 2, in: 1}, // of the GPU's copies, what goes out is the opposite direction
		kernels.Fill:   {out: 1, in: 2},
	} {
		l := newLab(t, node(gpus(2, "NVIDIA L40S"), "efficiency: {sm: 0.5}", "faults: [{kind: slow, pair: [0, 1], engine: sm, factor: 0.5, when: bidirectional}]"))
		l.enableAll()
		mine, theirs, sum, big := l.alloc(0, bytes), l.alloc(1, bytes), l.alloc(0, 16), l.alloc(1, bytes)
		s := get1(l.ctx[0].NewStream())(t)
		took := func(dst, src *cuda.Buffer) float64 {
			defer func() { l.must(s.Synchronize()) }()
			return l.seconds(l.streams[0], func() {
				for range 8 {
					if dst != nil {
						l.must(s.CopyPeer(dst, 0, src, 0, bytes))
					}
				}
				args := []uint64{uint64(big.Ptr()), bytes, 1, 0, uint64(sum.Ptr())}
				l.launch(0, kernel, args[:kernels.Params[kernel]]...)
			})
		}
		alone := took(nil, nil)
		for name, c := range map[string]struct {
			dst, src *cuda.Buffer
			want     float64
		}{"out": {theirs, mine, want.out}, "in": {mine, theirs, want.in}} {
			got := took(c.dst, c.src) / alone
			if c.want == 1 {
				c.want = 1.5 // the copies and the kernel share a port: 1 and 0.5 of it
			}
			if !within(got, c.want, 0.001) {
				t.Errorf("%s beside copies %s: %.2f times as long, want %.2f", kernel, name, got, c.want)
			}
		}
	}
}
