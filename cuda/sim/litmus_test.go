package sim

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/kernels"
)

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
	const rounds = 50_000
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
	const rounds, mp, sb, lb = 8_000, kernels.LitmusMessagePassing, kernels.LitmusStoreBuffering, kernels.LitmusLoadBuffering
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
		l.bundle.Annotate(spec)
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
