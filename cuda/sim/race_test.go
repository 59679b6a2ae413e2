package sim

import (
	"testing"

	"github.com/peerproof/peerproof/cuda"
)

// flow is copies of 1 MiB queued on a stream of GPU a, of its memory to b's.
type flow struct{ a, b, copies int }

// flows runs flows that begin at once, and says how long each took, in copies
// at full speed.
func (l *lab) flows(all []flow) []float64 {
	l.Helper()
	const bytes = 1 << 20
	type lane struct {
		s          *cuda.Stream
		start, end *cuda.Event
		src, dst   *cuda.Buffer
	}
	var lanes []lane
	begin := get1(l.ctx[0].NewEvent(true))(l)
	l.must(l.streams[0].Record(begin))
	for _, f := range all {
		c := l.ctx[f.a]
		n := lane{get1(c.NewStream())(l), get1(c.NewEvent(true))(l), get1(c.NewEvent(true))(l), l.alloc(f.a, bytes), l.alloc(f.b, bytes)}
		l.must(n.s.WaitEvent(begin))
		l.must(n.s.Record(n.start))
		lanes = append(lanes, n)
	}
	for i, f := range all {
		for range f.copies {
			l.must(lanes[i].s.CopyPeer(lanes[i].dst, 0, lanes[i].src, 0, bytes))
		}
		l.must(lanes[i].s.Record(lanes[i].end))
	}
	var took []float64
	for _, n := range lanes {
		l.must(n.s.Synchronize())
		took = append(took, get1(n.end.Since(n.start))(l).Seconds()*31.5e9*0.86/bytes)
		l.must(n.src.Close())
		l.must(n.dst.Close())
	}
	return took
}

// TestDisturbances shows that work is slow while, and only while, what disturbs
// it runs.
func TestDisturbances(t *testing.T) {
	for _, c := range []struct {
		name, fault string
		flows       []flow
		want        []float64 // copies at full speed
	}{
		{"alone", "{kind: slow, pair: [0, 1], factor: 0.5, when: bidirectional}", []flow{{0, 1, 4}}, []float64{4}},
		{"both ways, one twice as long", "{kind: slow, pair: [0, 1], factor: 0.5, when: bidirectional}", []flow{{0, 1, 4}, {1, 0, 8}}, []float64{8, 8}},
		{"both ways, the other over sooner", "{kind: slow, pair: [0, 1], factor: 0.5, when: bidirectional}", []flow{{0, 1, 4}, {1, 0, 2}}, []float64{5, 2}},
		{"both ways, both slow", "{kind: slow, pair: [0, 1], both: true, factor: 0.25, when: bidirectional}", []flow{{0, 1, 4}, {1, 0, 4}}, []float64{16, 16}},
		{"other pairs do not count", "{kind: slow, pair: [0, 1], factor: 0.5, when: bidirectional}", []flow{{0, 1, 4}, {2, 3, 4}, {1, 2, 4}}, []float64{4, 4, 4}},
		{"beside another pair", "{kind: slow, pair: [0, 1], factor: 0.5, when: concurrent}", []flow{{0, 1, 4}, {2, 3, 8}}, []float64{8, 8}},
		{"beside two, one after the other over", "{kind: slow, pair: [0, 1], factor: 0.5, when: concurrent}", []flow{{0, 1, 4}, {2, 3, 1}, {3, 2, 3}}, []float64{5.5, 1, 3}},
		{"beside a pair with one of its GPUs", "{kind: slow, pair: [0, 1], factor: 0.5, when: concurrent}", []flow{{0, 1, 4}, {2, 0, 8}}, []float64{8, 8}},
		{"its own other way does not count", "{kind: slow, pair: [0, 1], factor: 0.5, when: concurrent}", []flow{{0, 1, 4}, {1, 0, 8}}, []float64{4, 8}},
		{
			"two faults", "{kind: slow, pair: [0, 1], factor: 0.5, when: concurrent}\n  - {kind: slow, pair: [0, 1], factor: 0.5, when: bidirectional}",
			[]flow{{0, 1, 4}, {1, 0, 4}, {2, 3, 8}},
			[]float64{9, 4, 8},
		},
		{
			"a slow one is longer in the way", "{kind: slow, pair: [0, 1], factor: 0.5, when: concurrent}\n  - {kind: slow, pair: [2, 3], factor: 0.5}",
			[]flow{{0, 1, 4}, {2, 3, 3}},
			[]float64{7, 6},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, node(gpus(4, "NVIDIA L40S"), "faults:\n  - "+c.fault))
			l.enableAll()
			for i, got := range l.flows(c.flows) {
				if !within(got, c.want[i], 0.001) {
					t.Errorf("flow %v took %.3f copies, want %.3f", c.flows[i], got, c.want[i])
				}
			}
		})
	}
}

// TestSmallCopies take the latency of their path, large ones as their bytes do.
func TestSmallCopies(t *testing.T) {
	l := newLab(t, pcie2)
	l.enableAll()
	src, dst := l.alloc(0, 1<<20), l.alloc(1, 1<<20)
	before := 0.0
	for bytes := uint64(16); bytes <= 1<<20; bytes *= 4 {
		took := l.seconds(l.streams[0], func() { l.must(l.streams[0].CopyPeer(dst, 0, src, 0, bytes)) })
		if want := max(float64(bytes)/(31.5e9*0.86), latencies.phb.copy); !within(took, want, 0.001) {
			t.Errorf("%d bytes took %v s, want %v", bytes, took, want)
		}
		if rate := float64(bytes) / took; rate < 0.999*before {
			t.Errorf("%d bytes are slower than fewer", bytes)
		} else {
			before = rate
		}
	}
}
