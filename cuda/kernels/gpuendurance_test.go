package kernels_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/kernels"
)

// check compares a buffer with a test pattern: {count, first, flipped}.
func (g *gpu) check(b *cuda.Buffer, n, kind, seed uint64) (result [3]uint64, seconds float64) {
	g.Helper()
	data := g.host.Data()[:24]
	clear(data)
	binary.LittleEndian.PutUint64(data[8:], math.MaxUint64)
	g.must(g.stream.CopyHtoD(g.result, 0, g.host, 0, 24))
	seconds = g.seconds(func() { g.launch(kernels.CheckPattern, uint64(b.Ptr()), n, kind, seed, uint64(g.result.Ptr())) })
	r := g.read(g.result, 0, 24)
	return [3]uint64{word(r, 0), word(r, 1), word(r, 2)}, seconds
}

func TestRealGPUPatterns(t *testing.T) {
	g := openGPU(t)
	free, total, err := g.context.MemInfo()
	g.must(err)
	n := free / 100 * 96 &^ 15
	b, err := g.context.Alloc(n)
	for err != nil && n > free/100*90 { // what is free need not be in one piece
		n -= 64 << 20
		b, err = g.context.Alloc(n)
	}
	g.must(err)
	n -= 8 // the last word alone
	t.Logf("%.1f GiB, %.1f %% of what is free and %.1f %% of all", float64(n)/(1<<30), 100*float64(n)/float64(free), 100*float64(n)/float64(total))
	if n < free/100*95 {
		t.Errorf("only %d of %d bytes could be allocated", n, free)
	}
	right := [3]uint64{0, math.MaxUint64, 0}
	for kind := range uint64(kernels.TestKinds) {
		seed := 70 + kind
		write := g.seconds(func() { g.launch(kernels.TestPattern, uint64(b.Ptr()), n, kind, seed) })
		r, read := g.check(b, n, kind, seed)
		t.Logf("kind %d: write %.0f GB/s, check %.0f GB/s", kind, float64(n)/write/1e9, float64(n)/read/1e9)
		if r != right {
			t.Errorf("kind %d: check finds %#x in what pattern wrote", kind, r)
		}
		// What is in memory is what Go says.
		for _, at := range []uint64{0, n/3&^7 - 8, n - 4096} {
			for i, got := 0, g.read(b, at, 4096); i < 512; i++ {
				address := uint64(b.Ptr()) + at + 8*uint64(i)
				if want := kernels.TestWord(kind, seed, address, at/8+uint64(i)); word(got, i) != want {
					t.Fatalf("kind %d: the word at %#x is %#x, want %#x", kind, address, word(got, i), want)
				}
			}
		}
		// One bit beyond 4 GiB where there is so much, one in the last word.
		first := n / 2 &^ 7
		for _, at := range []uint64{first, n - 8} {
			g.must(g.stream.Memset(b, at, 1, byte(kernels.TestWord(kind, seed, uint64(b.Ptr())+at, at/8))^0x10))
		}
		if r, _ := g.check(b, n, kind, seed); r != [3]uint64{2, first, 0x10} {
			t.Errorf("kind %d: check finds %#x, want two words from %#x on", kind, r, first)
		}
	}
	// Another walk has other bits in every word.
	g.launch(kernels.TestPattern, uint64(b.Ptr()), n, kernels.TestWalkingOnes, 0)
	if r, _ := g.check(b, n, kernels.TestWalkingOnes, 1); r != [3]uint64{n / 8, 0, math.MaxUint64} {
		t.Errorf("check of another pattern finds %#x", r)
	}
	g.must(b.Close())
}

func TestRealGPUProduct(t *testing.T) {
	g := openGPU(t)
	multiprocessors := value[int](t)(g.context.Device().Attribute(cuda.AttrMultiprocessorCount))
	for _, c := range []struct {
		name    string
		kind    uint64
		rounds  uint64
		flops   uint64 // a round, of all threads of a block
		checked uint64 // results, of a block
		least   float64
	}{
		{"fp32", kernels.ProductFP32, 200_000, kernels.ProductFP32Flops * kernels.ProductBlock, 8 * kernels.ProductBlock, 1},
		{"tensor", kernels.ProductTensor, 100_000, kernels.ProductTensorFlops * kernels.ProductBlock / 32, 25 * 4 * 256 * kernels.ProductBlock / 32, 10},
	} {
		for _, perSM := range []uint32{1, 2, 4, 8} {
			grid := perSM * uint32(multiprocessors)
			run := func(rounds, seed, reference uint64) (wrong, checked uint64, seconds float64) {
				g.must(g.stream.Memset(g.result, 0, 16, 0))
				seconds = g.seconds(func() {
					g.must(g.stream.Launch(g.kernel[kernels.Product], grid, kernels.ProductBlock, c.kind, rounds, seed, reference, uint64(g.result.Ptr())))
				})
				r := g.read(g.result, 0, 16)
				return word(r, 0), word(r, 1), seconds
			}
			wrong, checked, seconds := run(c.rounds, 5, 5)
			rate := float64(c.rounds) * float64(c.flops) * float64(grid) / seconds / 1e12
			t.Logf("%s, %d blocks an SM: %.1f TFLOP/s, %.0f ms, %d wrong of %d", c.name, perSM, rate, seconds*1e3, wrong, checked)
			if wrong != 0 || checked != c.checked*uint64(grid) {
				t.Errorf("%s: %d wrong of %d, want none of %d", c.name, wrong, checked, c.checked*uint64(grid))
			}
			if rate < c.least {
				t.Errorf("%s: %.2f TFLOP/s", c.name, rate)
			}
			// The check can fail: with operands of another seed nearly all is wrong.
			if wrong, checked, _ := run(1000, 5, 6); checked == 0 || wrong < checked/4*3 {
				t.Errorf("%s: against another reference %d wrong of %d", c.name, wrong, checked)
			}
		}
	}
}
