package sim

import (
	"testing"
	"time"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/kernels"
)

// match is a game of pingpong between two GPUs.
type match struct {
	a, b           int
	flagA, flagB   *cuda.Buffer // that a and b store to
	ready          *cuda.HostBuffer
	resultA, resB  *cuda.Buffer
	rounds         uint64
	deadline       time.Duration
	streamA, other *cuda.Stream
}

// newMatch has each side poll its own memory.
func (l *lab) newMatch(a, b int) *match {
	l.Helper()
	m := &match{
		a: a, b: b, flagA: l.alloc(b, 64), flagB: l.alloc(a, 64), ready: get1(l.ctx[a].AllocHost(512))(l),
		resultA: l.alloc(a, 24), resB: l.alloc(b, 24), rounds: 1000, deadline: 50 * time.Millisecond,
		streamA: l.streams[a], other: l.streams[b],
	}
	if a == b {
		m.other = get1(l.ctx[b].NewStream())(l)
	}
	l.put(b, m.flagA, 0, 0)
	l.put(a, m.flagB, 0, 0)
	l.put(a, m.resultA, 0, 7, 7, 7)
	l.put(b, m.resB, 0, 7, 7, 7)
	return m
}

func (l *lab) serve(m *match) {
	l.Helper()
	host := uint64(m.ready.DevicePtr())
	l.launchOn(m.streamA, m.a, 1, 1, kernels.PingPong, uint64(m.flagA.Ptr()), uint64(m.flagB.Ptr()), m.rounds, 1, uint64(m.deadline),
		uint64(m.resultA.Ptr()), host, host+256)
}

func (l *lab) answer(m *match) {
	l.Helper()
	host := uint64(m.ready.DevicePtr())
	l.launchOn(m.other, m.b, 1, 1, kernels.PingPong, uint64(m.flagB.Ptr()), uint64(m.flagA.Ptr()), m.rounds, 0, uint64(m.deadline),
		uint64(m.resB.Ptr()), host+256, host)
}

// results waits for both sides.
func (l *lab) results(m *match) (a, b [3]uint64) {
	l.Helper()
	l.must(m.streamA.Synchronize())
	l.must(m.other.Synchronize())
	return [3]uint64(l.get(m.a, m.resultA, 0, 3)), [3]uint64(l.get(m.b, m.resB, 0, 3))
}

func TestPingPong(t *testing.T) {
	const faulted = "gpus: {count: 2, model: NVIDIA L40S, memory: 4MiB}\nversion: 1\nnoise: 0\nfaults: ["
	stuck := uint64(50e6)
	for _, c := range []struct {
		name, text   string
		a, b         int
		doneA, doneB uint64
		round        float64 // 0: it does not come to its end
	}{
		{"loopback", hgx2, 0, 0, 1000, 1000, latencies.local.flag},
		{"NVLink", hgx2, 0, 1, 1000, 1000, latencies.nvlink.flag},
		{"NVLink, the other first", hgx2, 1, 0, 1000, 1000, latencies.nvlink.flag},
		{"PCIe", pcie2, 0, 1, 1000, 1000, latencies.phb.flag},
		{"slow one way", faulted + "{kind: slow-latency, pair: [0, 1], factor: 5}]", 0, 1, 1000, 1000, latencies.phb.flag * 3},
		{"no-progress of the first", faulted + "{kind: no-progress, pair: [0, 1]}]", 0, 1, 0, 1, 0},
		{"no-progress of the second", faulted + "{kind: no-progress, pair: [1, 0]}]", 0, 1, 0, 0, 0},
		{"the first's stores are late", faulted + "{kind: invisible-until-exit, pair: [0, 1]}]", 0, 1, 0, 0, 0},
		{"the second's stores are late", faulted + "{kind: invisible-until-exit, pair: [1, 0]}]", 0, 1, 0, 1, 0},
		{"a mirror", faulted + "{kind: private-mirror, pair: [0, 1]}]", 0, 1, 0, 0, 0},
		{"stale stores", faulted + "{kind: stale, pair: [1, 0], engine: sm}]", 0, 1, 0, 1, 0},
		{"a wrong bit", faulted + "{kind: corrupt, pair: [0, 1], engine: sm, offset: 1}]", 0, 1, 0, 0, 0},
		{"a wrong bit elsewhere", faulted + "{kind: corrupt, pair: [0, 1], engine: sm, offset: 9}]", 0, 1, 1000, 1000, latencies.phb.flag},
		{"reordered stores", faulted + "{kind: reordered, pair: [0, 1], both: true}]", 0, 1, 1000, 1000, latencies.phb.flag},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, c.text)
			l.enableAll()
			m := l.newMatch(c.a, c.b)
			began := time.Now()
			l.serve(m)
			l.answer(m)
			a, b := l.results(m)
			if took := time.Since(began); took > time.Second {
				t.Errorf("it took %v", took)
			}
			ns := stuck
			if c.round > 0 {
				ns = uint64(1000 * c.round * 1e9)
			}
			for i, got := range [][3]uint64{a, b} {
				done := c.doneA
				if i == 1 {
					done = c.doneB
				}
				if got[0] != done || got[2] != 1 || !within(float64(got[1]), float64(ns), 0.001) {
					t.Errorf("side %d: %v, want %d rounds in %d ns", i, got, done, ns)
				}
			}
		})
	}
}

// TestPingPongState is right after both have ended, whatever was seen between.
func TestPingPongState(t *testing.T) {
	l := newLab(t, node(gpus(2, "NVIDIA L40S"), "faults: [{kind: no-progress, pair: [0, 1]}, {kind: invisible-until-exit, pair: [1, 0]}]"))
	l.enableAll()
	m := l.newMatch(0, 1)
	l.serve(m)
	l.answer(m)
	l.results(m)
	// The first has stored 1, and the second answered it.
	if a, b := l.get(1, m.flagA, 0, 1)[0], l.get(0, m.flagB, 0, 1)[0]; a != 1 || b != 1 {
		t.Errorf("flags %d and %d, want 1 and 1", a, b)
	}
	if h := m.ready.Data(); h[0] != 1 || h[256] != 1 {
		t.Errorf("the flags of the meeting are %d and %d", h[0], h[256])
	}
}

func TestPingPongAlone(t *testing.T) {
	l := newLab(t, hgx2)
	l.enableAll()
	m := l.newMatch(0, 1)
	m.deadline = 3 * time.Millisecond
	took := l.seconds(m.streamA, func() { l.serve(m) })
	if got := l.get(0, m.resultA, 0, 3); got[0] != 0 || got[2] != 0 {
		t.Errorf("alone: %v", got)
	}
	if !within(took, 0.003, 0.001) {
		t.Errorf("alone it takes %v s, want its deadline", took)
	}
	// The second comes when the first is over: it finds a flag and nobody.
	l.answer(m)
	l.must(m.other.Synchronize())
	if got := l.get(1, m.resB, 0, 3); got[0] != 0 || got[2] != 1 {
		t.Errorf("too late: %v", got)
	}
}

// TestPingPongApart shows that two kernels of which one begins after the other's
// deadline do not meet.
func TestPingPongApart(t *testing.T) {
	for _, busy := range []time.Duration{40 * time.Millisecond, 60 * time.Millisecond} {
		for _, late := range []bool{false, true} {
			l := newLab(t, hgx2)
			l.enableAll()
			m := l.newMatch(0, 1)
			s, gpu := m.streamA, 0
			if late {
				s, gpu = m.other, 1
			}
			l.launchOn(s, gpu, 1, 1, kernels.Load, uint64(l.alloc(gpu, 8).Ptr()), uint64(busy))
			l.serve(m)
			l.answer(m)
			a, b := l.results(m)
			if met := a[0] == 1000 && b[0] == 1000; met != (busy < m.deadline) {
				t.Errorf("%v apart, deadline %v: %v, %v", busy, m.deadline, a, b)
			}
		}
	}
}

// TestHeldStreams shows that what is behind a kernel that waits for its partner
// waits too, also on another stream, and that another thread may bring it.
func TestHeldStreams(t *testing.T) {
	l := newLab(t, hgx2)
	l.enableAll()
	m := l.newMatch(0, 1)
	m.deadline = 10 * time.Second
	third := get1(l.ctx[1].NewStream())(t)
	e := get1(l.ctx[0].NewEvent(false))(t)
	copied := l.alloc(0, 24)
	copied2 := l.alloc(1, 24)
	l.put(0, copied, 0, 5, 5, 5)
	l.serve(m)
	l.must(m.streamA.CopyDtoD(copied, 0, m.resultA, 0, 24))
	l.must(m.streamA.Record(e))
	l.must(third.WaitEvent(e))
	l.must(third.CopyPeer(copied2, 0, copied, 0, 24))
	for _, s := range []*cuda.Stream{m.streamA, third} {
		if done, err := s.Query(); done || err != nil {
			t.Errorf("a held stream: done %v, %v", done, err)
		}
	}
	go func() {
		time.Sleep(5 * time.Millisecond)
		l.answer(m)
	}()
	l.must(e.Synchronize())
	l.must(third.Synchronize())
	if got := l.get(1, copied2, 0, 3); got[0] != 1000 || got[2] != 1 {
		t.Errorf("copied behind the kernel: %v", got)
	}
	// A stream that is destroyed while it is held goes on.
	m = l.newMatch(0, 1)
	m.streamA = get1(l.ctx[0].NewStream())(t)
	l.serve(m)
	l.must(m.streamA.CopyDtoD(copied, 0, m.resultA, 0, 24))
	l.must(m.streamA.Close())
	l.answer(m)
	l.must(m.other.Synchronize())
	if got := l.get(0, copied, 0, 3); got[0] != 1000 {
		t.Errorf("behind the kernel of a destroyed stream: %v", got)
	}
}

func TestPingPongFaultsOfTheWholeProcess(t *testing.T) {
	for fault, want := range map[string]cuda.Result{
		"{kind: illegal-address, pair: [0, 1], engine: sm}": cuda.ErrIllegalAddress,
	} {
		l := newLab(t, three(fault))
		l.enableAll()
		m := l.newMatch(0, 1)
		l.serve(m)
		l.answer(m)
		if got := code(m.streamA.Synchronize()); got != want {
			t.Errorf("%s: %v, want %v", fault, got, want)
		}
	}
	l := newLab(t, three("{kind: hang, pair: [0, 1], engine: sm-write}"))
	l.enableAll()
	m := l.newMatch(0, 1)
	m.deadline = time.Millisecond
	l.serve(m)
	l.answer(m)
	l.must(m.other.Synchronize()) // by its deadline
	returned, hung := make(chan error, 1), m.streamA
	go func() { returned <- hung.Synchronize() }()
	waitBriefly(t, returned)
	// Without access the flags are out of reach.
	l = newLab(t, hgx2)
	m = l.newMatch(0, 1)
	l.serve(m)
	if got := code(m.streamA.Synchronize()); got != cuda.ErrIllegalAddress {
		t.Errorf("without access: %v", got)
	}
}
