package kernels_test

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/peerproof/peerproof/cuda/kernels"
)

func TestRealGPUChase(t *testing.T) {
	g := openGPU(t)
	const seed, stride = 3, 256
	out := uint64(g.result.Ptr())
	for _, c := range []struct {
		name        string
		ptr, span   uint64
		steps       uint64
		least, most float64 // ns a load that can be believed
	}{
		{"device memory, 1 MiB", uint64(g.sink.Ptr()), 1 << 20, 200_000, 50, 2000},
		{"device memory, 256 MiB", uint64(g.sink.Ptr()), min(256<<20, g.sink.Bytes()), 200_000, 200, 5000},
		// The whole of what is used lies in pinned memory behind the bus.
		{"pinned host memory, 16 MiB", uint64(g.host.DevicePtr()), 16 << 20, 20_000, 400, 10_000},
	} {
		count := uint64(1)
		for 2*count*stride <= c.span {
			count *= 2
		}
		g.launch(kernels.Chain, c.ptr, count, stride, seed)
		g.launch(kernels.Chase, c.ptr, 100, out) // what is loaded lazily is loaded
		took := g.seconds(func() { g.launch(kernels.Chase, c.ptr, c.steps, out) })
		want := c.ptr + kernels.ChainAfter(seed, count, c.steps)*stride
		if got := binary.LittleEndian.Uint64(g.read(g.result, 0, 8)); got != want {
			t.Errorf("%s: the chase ends at %#x, want %#x", c.name, got, want)
		}
		each := took * 1e9 / float64(c.steps)
		t.Logf("%s: %.1f ns a load over %d elements", c.name, each, count)
		if each < c.least || each > c.most {
			t.Errorf("%s: %.1f ns a load", c.name, each)
		}
	}
}

// meeting is where two kernels meet: two uint32 arrays in pinned memory, a page
// apart, zeroed.
func (g *gpu) meeting() (mine, other uint64) {
	g.Helper()
	clear(g.host.Data()[:8192])
	return uint64(g.host.DevicePtr()), uint64(g.host.DevicePtr()) + 4096
}

func TestRealGPUPingPong(t *testing.T) {
	g := openGPU(t)
	const rounds, limit = 100_000, uint64(5 * time.Second)
	flags, results := uint64(g.sink.Ptr()), uint64(g.result.Ptr())
	for _, c := range []struct {
		name string
		a, b uint64 // the flags
		most float64
	}{
		{"flags in device memory", flags, flags + 4096, 20_000},
		{"flags in pinned memory", uint64(g.host.DevicePtr()) + 12288, uint64(g.host.DevicePtr()) + 16384, 50_000},
	} {
		mine, other := g.meeting()
		clear(g.host.Data()[12288:20480])
		g.must(g.stream.Memset(g.sink, 0, 8192, 0))
		g.must(g.stream.Synchronize())
		g.launch(kernels.PingPong, c.a, c.b, rounds, 1, limit, results, mine, other)
		g.launchOn(g.other, kernels.PingPong, c.b, c.a, rounds, 0, limit, results+24, other, mine)
		g.must(errors.Join(g.stream.Synchronize(), g.other.Synchronize()))
		r := g.read(g.result, 0, 48)
		for side := range 2 {
			done, ns, met := word(r, 3*side), word(r, 3*side+1), word(r, 3*side+2)
			each := float64(ns) / float64(max(done, 1))
			t.Logf("%s, side %d: %d rounds, %.0f ns each, met %d", c.name, side, done, each, met)
			if done != rounds || met != 1 || each < 100 || each > c.most {
				t.Errorf("%s, side %d: %d rounds of %d, %.0f ns each, met %d", c.name, side, done, rounds, each, met)
			}
		}
	}
	// Alone, each side gives up in time.
	const short = uint64(20 * time.Millisecond)
	for first := range uint64(2) {
		mine, other := g.meeting()
		took := g.seconds(func() { g.launch(kernels.PingPong, flags, flags+4096, rounds, first, short, results, mine, other) })
		if g.host.Data()[0] != 1 {
			t.Error("alone: the side did not say that it is there")
		}
		if r := g.read(g.result, 0, 24); word(r, 0) != 0 || word(r, 2) != 0 || took < 0.019 || took > 1 {
			t.Errorf("alone: %d rounds, met %d, %.3f s", word(r, 0), word(r, 2), took)
		}
	}
}

func word(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }

// litmus runs both sides of a test at once: what each round gave, how often.
func (g *gpu) litmus(test uint64, relaxed bool, rounds uint64) (seen map[[2]uint32]int, together [2]uint32) {
	g.Helper()
	const limit = uint64(5 * time.Second)
	size := 4 * rounds
	x, y := uint64(g.sink.Ptr()), uint64(g.sink.Ptr())+size
	outs := [2]uint64{uint64(g.source.Ptr()), uint64(g.source.Ptr()) + size + 4}
	mine, other := g.meeting()
	g.must(g.stream.Memset(g.sink, 0, 2*size, 0))
	g.must(g.stream.Memset(g.source, 0, 2*(size+4), 0xff))
	for side := range uint64(2) {
		g.must(g.stream.Memset(g.source, side*(size+4)+size, 4, 0))
	}
	g.must(g.stream.Synchronize())
	g.launch(kernels.Litmus, kernels.LitmusMode(test, 0, relaxed), x, y, rounds, outs[0], mine, other, limit)
	g.launchOn(g.other, kernels.Litmus, kernels.LitmusMode(test, 1, relaxed), x, y, rounds, outs[1], other, mine, limit)
	g.must(errors.Join(g.stream.Synchronize(), g.other.Synchronize()))
	var sides [2][]byte
	for side := range sides {
		sides[side] = g.read(g.source, uint64(side)*(size+4), size+4)
		together[side] = binary.LittleEndian.Uint32(sides[side][size:])
	}
	seen = map[[2]uint32]int{}
	for i := range rounds {
		seen[[2]uint32{binary.LittleEndian.Uint32(sides[0][4*i:]), binary.LittleEndian.Uint32(sides[1][4*i:])}]++
	}
	return seen, together
}

func TestRealGPULitmus(t *testing.T) {
	g := openGPU(t)
	const rounds = 4<<20 + 77 // the last round of blocks is not full
	for _, c := range []struct {
		name      string
		test      uint64
		forbidden [2]uint32
		// Outcomes that come about only where both sides are in a round at once.
		between [][2]uint32
		allowed [][2]uint32
	}{
		{"message passing", kernels.LitmusMessagePassing, [2]uint32{0, 1}, [][2]uint32{{0, 2}}, [][2]uint32{{0, 0}, {0, 3}}},
		{"store buffering", kernels.LitmusStoreBuffering, [2]uint32{0, 0}, [][2]uint32{{1, 1}}, [][2]uint32{{0, 1}, {1, 0}}},
		{"load buffering", kernels.LitmusLoadBuffering, [2]uint32{1, 1}, [][2]uint32{{0, 0}}, [][2]uint32{{0, 1}, {1, 0}}},
	} {
		for _, relaxed := range []bool{false, true} {
			start := time.Now()
			seen, together := g.litmus(c.test, relaxed, rounds)
			t.Logf("%s, relaxed %t: %v, together %d, %v", c.name, relaxed, seen, together, time.Since(start))
			if together != [2]uint32{rounds, rounds} {
				t.Errorf("%s: the sides met for %d of %d rounds", c.name, together, rounds)
			}
			sum := seen[c.forbidden]
			for _, outcome := range append(c.between, c.allowed...) {
				sum += seen[outcome]
			}
			if sum != rounds {
				t.Errorf("%s: %d of %d rounds have an outcome that the test has", c.name, sum, rounds)
			}
			if relaxed {
				continue // any outcome is allowed
			}
			if n := seen[c.forbidden]; n != 0 {
				t.Errorf("%s: %d forbidden outcomes", c.name, n)
			}
			if seen[c.between[0]] == 0 || seen[c.allowed[0]] == 0 || seen[c.allowed[1]] == 0 {
				t.Errorf("%s: not all allowed outcomes were seen: the sides hardly overlapped", c.name)
			}
		}
	}
}

// Alone, a side ends in time and says that it was alone.
func TestRealGPULitmusAlone(t *testing.T) {
	g := openGPU(t)
	const rounds = 100_000
	mine, other := g.meeting()
	g.must(g.stream.Memset(g.sink, 0, 8*rounds, 0))
	g.must(g.stream.Memset(g.source, 0, 4*rounds+4, 0))
	x, out := uint64(g.sink.Ptr()), uint64(g.source.Ptr())
	took := g.seconds(func() {
		g.launch(kernels.Litmus, kernels.LitmusMode(kernels.LitmusStoreBuffering, 0, false), x, x+4*rounds, rounds, out, mine, other, uint64(20*time.Millisecond))
	})
	if together := binary.LittleEndian.Uint32(g.read(g.source, 4*rounds, 4)); together != 0 || took < 0.019 || took > 1 {
		t.Errorf("alone: together for %d rounds, %.3f s", together, took)
	}
}
