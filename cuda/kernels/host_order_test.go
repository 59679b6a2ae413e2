package kernels

import (
	"sync"
	"testing"
	"time"
	"unsafe"
)

const bound = uint64(20 * time.Second) // more than any of these takes

func TestHostAdd(t *testing.T) {
	h := buildHost(t)
	counter := ^uint64(0) - 5
	h.add(7, &counter, 3)
	if counter != 15 {
		t.Errorf("21 added to -6 gives %d", int64(counter))
	}
}

// A chain passes through every element once before it comes back, and
// ChainNext and ChainAfter say where it is.
func TestHostChainIsOneCycle(t *testing.T) {
	h := buildHost(t)
	for _, count := range []uint64{1, 2, 4, 64, 1 << 12} {
		for _, stride := range []uint64{8, 128, 200} {
			memory := make([]uint64, count*stride/8)
			first := &memory[0]
			seed := count + stride
			h.chain(3, first, count, stride, seed)
			seen := make([]bool, count)
			at := uint64(0)
			for steps := range count {
				if seen[at] {
					t.Fatalf("%d elements: element %d comes twice, after %d steps", count, at, steps)
				}
				seen[at] = true
				if want := ChainAfter(seed, count, steps); at != want {
					t.Fatalf("%d elements: element %d after %d steps, ChainAfter says %d", count, at, steps, want)
				}
				link := memory[at*stride/8] - uint64(uintptr(unsafe.Pointer(first)))
				at = ChainNext(seed, count, at)
				if link != at*stride {
					t.Fatalf("%d elements: a link leads to offset %d, ChainNext says %d", count, link, at*stride)
				}
			}
			var last unsafe.Pointer
			h.chase(unsafe.Pointer(first), 3*count+1, &last)
			if want := unsafe.Pointer(&memory[ChainAfter(seed, count, 1)*stride/8]); last != want {
				t.Errorf("%d elements: after three times around and one step the chase is at %v, want %v", count, last, want)
			}
		}
	}
}

// both runs two sides at once.
func both(side func(number uint64)) {
	var wait sync.WaitGroup
	for number := range uint64(2) {
		wait.Go(func() { side(number) })
	}
	wait.Wait()
}

func TestHostPingPong(t *testing.T) {
	h := buildHost(t)
	const rounds = 200
	flags, ready, results := new([2]uint32), new([2]uint32), new([2][3]uint64)
	both(func(side uint64) {
		h.pingpong(&flags[side], &flags[1-side], rounds, side, bound, &results[side], &ready[side], &ready[1-side])
	})
	for side, r := range results {
		if r[0] != rounds || r[1] == 0 || r[2] != 1 || flags[side] != rounds {
			t.Errorf("side %d: %d rounds in %d ns, met %d, flag %d", side, r[0], r[1], r[2], flags[side])
		}
	}
}

func TestHostPingPongEndsWithoutAnAnswer(t *testing.T) {
	h := buildHost(t)
	const limit = uint64(20 * time.Millisecond)
	for _, c := range []struct {
		name         string
		first, other uint32
		want         [3]uint64 // its second is not looked at
		flag         uint32
	}{
		{"nobody comes", 1, 0, [3]uint64{0, 0, 0}, 0},
		{"the other comes and is silent", 1, 1, [3]uint64{0, 0, 1}, 1},
		{"the first is silent", 0, 1, [3]uint64{0, 0, 1}, 0},
	} {
		var store, load, mine uint32
		var r [3]uint64
		start := time.Now()
		h.pingpong(&store, &load, 5, uint64(c.first), limit, &r, &mine, &c.other)
		took := time.Since(start)
		r[1] = 0
		if r != c.want || store != c.flag || mine != 1 || took < time.Duration(limit) || took > time.Duration(100*limit) {
			t.Errorf("%s: %v after %v, flag %d, ready %d", c.name, r, took, store, mine)
		}
	}
}

// litmusRun runs both sides of a test as so many blocks each.
func (h *host) litmusRun(test uint64, relaxed bool, rounds, blocks uint64) (out [2][]uint32) {
	x, y := make([]uint32, rounds), make([]uint32, rounds)
	ready := [2][]uint32{make([]uint32, blocks), make([]uint32, blocks)}
	out = [2][]uint32{make([]uint32, rounds+1), make([]uint32, rounds+1)}
	both(func(side uint64) {
		var wait sync.WaitGroup
		for block := range blocks {
			wait.Go(func() {
				h.litmus(block, blocks, LitmusMode(test, side, relaxed), &x[0], &y[0], rounds, &out[side][0], &ready[side][0], &ready[1-side][0], bound)
			})
		}
		wait.Wait()
	})
	return out
}

func TestHostLitmus(t *testing.T) {
	h := buildHost(t)
	for _, c := range []struct {
		name      string
		test      uint64
		forbidden [2]uint32 // what side 0 and 1 must not see in one round
	}{
		{"message passing", LitmusMessagePassing, [2]uint32{0, 1}},
		{"store buffering", LitmusStoreBuffering, [2]uint32{0, 0}},
		{"load buffering", LitmusLoadBuffering, [2]uint32{1, 1}},
	} {
		for _, relaxed := range []bool{false, true} {
			const rounds = 301 // not all blocks have as many
			out := h.litmusRun(c.test, relaxed, rounds, 2)
			seen := map[[2]uint32]int{}
			for i := range rounds {
				seen[[2]uint32{out[0][i], out[1][i]}]++
			}
			t.Logf("%s, relaxed %t: %v", c.name, relaxed, seen)
			if out[0][rounds] != rounds || out[1][rounds] != rounds {
				t.Errorf("%s: sides met for %d and %d rounds of %d", c.name, out[0][rounds], out[1][rounds], rounds)
			}
			if n := seen[c.forbidden]; n != 0 && !relaxed {
				t.Errorf("%s: %d forbidden outcomes", c.name, n)
			}
		}
	}
}

// Each side alone sees what nobody stored, and says that it was alone.
func TestHostLitmusAlone(t *testing.T) {
	h := buildHost(t)
	for test := range uint64(3) {
		for side := range uint64(2) {
			x, y, out := new([5]uint32), new([5]uint32), new([6]uint32)
			var mine, other uint32
			h.litmus(0, 1, LitmusMode(test, side, false), &x[0], &y[0], 5, &out[0], &mine, &other, uint64(5*time.Millisecond))
			if *out != [6]uint32{} {
				t.Errorf("test %d side %d alone sees %v", test, side, *out)
			}
			stores := [3][2][2]uint32{{{1, 1}, {0, 0}}, {{1, 0}, {0, 1}}, {{0, 1}, {1, 0}}}[test][side]
			for i := range x {
				if [2]uint32{x[i], y[i]} != stores {
					t.Errorf("test %d side %d leaves x, y = %d, %d in round %d, want %v", test, side, x[i], y[i], i, stores)
				}
			}
		}
	}
}

// The other side leaves after two of five meetings.
func TestHostLitmusAbandoned(t *testing.T) {
	h := buildHost(t)
	x, y, out := new([5]uint32), new([5]uint32), new([6]uint32)
	var mine uint32
	other := uint32(2)
	h.litmus(0, 1, LitmusMode(LitmusStoreBuffering, 0, false), &x[0], &y[0], 5, &out[0], &mine, &other, uint64(5*time.Millisecond))
	if out[5] != 2 || mine != 3 {
		t.Errorf("rounds together are %d, meetings %d", out[5], mine)
	}
}

// What a side sees of values that were there before.
func TestHostLitmusSees(t *testing.T) {
	h := buildHost(t)
	for _, c := range []struct {
		test, side uint64
		x, y, want uint32
	}{
		{LitmusMessagePassing, 1, 0, 1, 1},
		{LitmusMessagePassing, 1, 1, 0, 2},
		{LitmusMessagePassing, 1, 1, 1, 3},
		{LitmusMessagePassing, 0, 1, 1, 0},
		{LitmusStoreBuffering, 0, 0, 1, 1},
		{LitmusStoreBuffering, 1, 1, 0, 1},
		{LitmusLoadBuffering, 0, 1, 0, 1},
		{LitmusLoadBuffering, 1, 0, 1, 1},
	} {
		var mine uint32
		other := ^uint32(0)
		out := new([2]uint32)
		h.litmus(0, 1, LitmusMode(c.test, c.side, false), &c.x, &c.y, 1, &out[0], &mine, &other, bound)
		if *out != [2]uint32{c.want, 1} {
			t.Errorf("test %d side %d sees %d of x = %d, y = %d, want %d", c.test, c.side, out[0], c.x, c.y, c.want)
		}
	}
}
