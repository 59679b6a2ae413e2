package sim

import (
	"encoding/binary"
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

// litmus runs both sides of a test over rounds, with x and y in the memory of
// the GPUs given, and counts the outcomes: side 0's in bits 4 and up.
func (l *lab) litmus(test uint64, relaxed bool, a, b, inX, inY int, rounds uint64) (outcomes map[uint32]int, met [2]uint32) {
	l.Helper()
	zeros := func(gpu int, bytes uint64) *cuda.Buffer {
		p := l.alloc(gpu, bytes)
		l.must(l.streams[gpu].Memset(p, 0, bytes, 0))
		l.sync(gpu)
		return p
	}
	x, y := zeros(inX, 4*rounds), zeros(inY, 4*rounds)
	out := []*cuda.Buffer{zeros(a, 4*rounds+8), zeros(b, 4*rounds+8)}
	ready := get1(l.ctx[a].AllocHost(8 * kernels.LitmusGrid))(l)
	host := uint64(ready.DevicePtr())
	for side, gpu := range []int{a, b} {
		mine, other := host, host+4*kernels.LitmusGrid
		s := l.streams[gpu]
		if side == 1 {
			mine, other = other, mine
			if a == b {
				s = get1(l.ctx[b].NewStream())(l)
			}
		}
		l.launchOn(s, gpu, kernels.LitmusGrid, kernels.LitmusBlock, kernels.Litmus, kernels.LitmusMode(test, uint64(side), relaxed),
			uint64(x.Ptr()), uint64(y.Ptr()), rounds, uint64(out[side].Ptr()), mine, other, uint64(time.Second))
	}
	l.must(l.ctx[a].Synchronize())
	l.must(l.ctx[b].Synchronize())
	seen := make([][]byte, 2)
	for side, gpu := range []int{a, b} {
		h := get1(l.ctx[gpu].AllocHost(4*rounds + 8))(l)
		defer h.Close()
		l.must(l.streams[gpu].CopyDtoH(h, 0, out[side], 0, h.Size()))
		l.sync(gpu)
		seen[side] = h.Data()
		met[side] = binary.LittleEndian.Uint32(h.Data()[4*rounds:])
	}
	outcomes = map[uint32]int{}
	for i := range rounds {
		outcomes[binary.LittleEndian.Uint32(seen[0][4*i:])<<4|binary.LittleEndian.Uint32(seen[1][4*i:])]++
	}
	for _, p := range append(out, x, y) {
		l.must(p.Close())
	}
	l.must(ready.Close())
	return outcomes, met
}

func TestLitmusOfAHealthyPair(t *testing.T) {
	const rounds = 100_000
	l := newLab(t, node(gpus(3, "NVIDIA L40S")))
	l.enableAll()
	for _, c := range []struct {
		name      string
		test      uint64
		forbidden uint32
		allowed   int // outcomes, ordered
	}{
		{"message passing", kernels.LitmusMessagePassing, 0x01, 3},
		{"store buffering", kernels.LitmusStoreBuffering, 0x00, 3},
		{"load buffering", kernels.LitmusLoadBuffering, 0x11, 3},
	} {
		for _, pair := range [][2]int{{0, 1}, {1, 0}, {2, 2}} {
			ordered, met := l.litmus(c.test, false, pair[0], pair[1], pair[1], pair[1], rounds)
			if met != [2]uint32{rounds, rounds} {
				t.Errorf("%s of %v: met in %v rounds", c.name, pair, met)
			}
			if ordered[c.forbidden] != 0 || len(ordered) != c.allowed {
				t.Errorf("%s of %v, ordered: %v, forbidden is %#x", c.name, pair, ordered, c.forbidden)
			}
			relaxed, _ := l.litmus(c.test, true, pair[0], pair[1], pair[1], pair[1], rounds)
			if relaxed[c.forbidden] == 0 || relaxed[c.forbidden] > rounds/10 {
				t.Errorf("%s of %v, relaxed: %v, forbidden is %#x", c.name, pair, relaxed, c.forbidden)
			}
		}
	}
}

func TestLitmusFaults(t *testing.T) {
	const rounds, mp, sb, lb = 20_000, kernels.LitmusMessagePassing, kernels.LitmusStoreBuffering, kernels.LitmusLoadBuffering
	forbidden := map[uint64]uint32{mp: 0x01, sb: 0x00, lb: 0x11}
	for _, c := range []struct {
		fault      string
		test       uint64
		a, b       int // message passing from a to b, in b's memory
		inX, inY   int
		violations bool
		only       int // every outcome is this; -1: any
	}{
		{"{kind: reordered, pair: [0, 1]}", mp, 0, 1, 1, 1, true, -1},
		{"{kind: reordered, pair: [0, 1]}", mp, 1, 0, 0, 0, false, -1},
		{"{kind: reordered, pair: [0, 1]}", mp, 0, 2, 2, 2, false, -1},
		{"{kind: reordered, pair: [0, 1]}", mp, 2, 1, 1, 1, false, -1},
		{"{kind: reordered, pair: [0, 1]}", sb, 0, 1, 1, 1, false, -1}, // one store a side has no order
		{"{kind: reordered, pair: [0, 1]}", lb, 0, 1, 1, 1, false, -1},
		{"{kind: invisible-until-exit, pair: [0, 1]}", mp, 0, 1, 1, 1, false, 0},
		{"{kind: invisible-until-exit, pair: [0, 1]}", mp, 1, 0, 0, 0, false, -1},
		{"{kind: invisible-until-exit, pair: [0, 1]}", sb, 0, 1, 1, 0, true, -1},
		{"{kind: no-progress, pair: [1, 0]}", mp, 0, 1, 1, 1, false, 0},
		{"{kind: no-progress, pair: [0, 1]}", mp, 0, 1, 1, 1, false, -1},
		{"{kind: private-mirror, pair: [0, 1]}", mp, 0, 1, 1, 1, false, 0},
		{"{kind: stale, pair: [0, 1], engine: sm-write}", mp, 0, 1, 1, 1, false, 0},
		{"{kind: stale, pair: [0, 1], engine: ce}", mp, 0, 1, 1, 1, false, -1},
		{"{kind: corrupt, pair: [0, 1], engine: sm-write, offset: 400}", sb, 0, 1, 1, 1, false, -1},
	} {
		l := newLab(t, three(c.fault))
		l.enableAll()
		got, met := l.litmus(c.test, false, c.a, c.b, c.inX, c.inY, rounds)
		if met[0] != rounds || met[1] != rounds {
			t.Errorf("%s: met in %v rounds", c.fault, met)
		}
		if n := got[forbidden[c.test]]; n > 0 != c.violations || n > rounds/2 {
			t.Errorf("%s, test %d of %d and %d: %d forbidden outcomes: %v", c.fault, c.test, c.a, c.b, n, got)
		}
		if c.only >= 0 && got[uint32(c.only)] != rounds {
			t.Errorf("%s, test %d of %d and %d: %v, want %d alone", c.fault, c.test, c.a, c.b, got, c.only)
		}
	}
}

func TestLitmusAlone(t *testing.T) {
	const rounds = 1000
	l := newLab(t, hgx2)
	x, out := l.alloc(0, 8*rounds), l.alloc(0, 4*rounds+8)
	l.must(l.streams[0].Memset(x, 0, 8*rounds, 0))
	l.must(l.streams[0].Memset(out, 0, 4*rounds+8, 0))
	ready := get1(l.ctx[0].AllocHost(512))(t)
	host := uint64(ready.DevicePtr())
	for side := range uint64(2) { // one after the other
		l.launchOn(l.streams[0], 0, kernels.LitmusGrid, kernels.LitmusBlock, kernels.Litmus, kernels.LitmusMode(kernels.LitmusMessagePassing, side, false),
			uint64(x.Ptr()), uint64(x.Ptr())+4*rounds, rounds, uint64(out.Ptr()), host+256*side, host+256-256*side, uint64(time.Millisecond))
		l.sync(0)
	}
	got := l.get(0, out, 0, rounds/2+1)
	for i, w := range got[:rounds/2] {
		if w != 3<<32|3 { // after the other, all is seen
			t.Fatalf("rounds %d: %#x", 2*i, w)
		}
	}
	if got[rounds/2] != 0 {
		t.Errorf("%d rounds began with a meeting", got[rounds/2])
	}
}

// TestLitmusIsTheSame for the same seed and spec, whatever was allocated before.
func TestLitmusIsTheSame(t *testing.T) {
	run := func(spec string, pad uint64) map[uint32]int {
		l := newLab(t, hgx2)
		l.enableAll()
		l.api.Annotate(spec)
		l.alloc(1, pad)
		got, _ := l.litmus(kernels.LitmusMessagePassing, false, 0, 1, 1, 1, 5000)
		return got
	}
	one, again, other := run("ordering/a", 64), run("ordering/a", 100_000), run("ordering/b", 64)
	same := func(a, b map[uint32]int) bool { return a[0] == b[0] && a[2] == b[2] && a[3] == b[3] }
	if !same(one, again) || same(one, other) {
		t.Errorf("%v, again %v, of another spec %v", one, again, other)
	}
}

// TestLitmusDeadline shows how many rounds begin with a meeting where the time
// is too short for all.
func TestLitmusDeadline(t *testing.T) {
	const rounds, threads = 20 * 8192, kernels.LitmusGrid * kernels.LitmusBlock
	l := newLab(t, "version: 1\nnoise: 0\ngpus: {count: 2, model: NVIDIA H200, memory: 16MiB}\nnvlink: {switch: {}}\n")
	l.enableAll()
	x, out := l.alloc(1, 8*rounds), []*cuda.Buffer{l.alloc(0, 4*rounds+8), l.alloc(1, 4*rounds+8)}
	ready := get1(l.ctx[0].AllocHost(512))(t)
	host := uint64(ready.DevicePtr())
	l.put(0, out[0], 4*rounds, 0)
	l.put(1, out[1], 4*rounds, 0)
	const deadline = 30 * time.Microsecond
	for side := range uint64(2) {
		l.launchOn(l.streams[side], int(side), kernels.LitmusGrid, kernels.LitmusBlock, kernels.Litmus,
			kernels.LitmusMode(kernels.LitmusLoadBuffering, side, false), uint64(x.Ptr()), uint64(x.Ptr())+4*rounds, rounds,
			uint64(out[side].Ptr()), host+256*side, host+256-256*side, uint64(deadline))
	}
	l.sync(0)
	l.sync(1)
	met := []uint64{l.get(0, out[0], 4*rounds, 1)[0], l.get(1, out[1], 4*rounds, 1)[0]}
	if met[0] != met[1] || met[0] == 0 || met[0] >= rounds || met[0]%threads != 0 {
		t.Errorf("of %d rounds in %v, %v began with a meeting", rounds, deadline, met)
	}
	// Every block comes to one more meeting, and nobody there.
	for i, b := range ready.Data() {
		if want := byte(met[0]/threads) + 1; i%4 == 0 && b != want {
			t.Fatalf("flag %d is %d, want %d", i/4, b, want)
		}
	}
}
