package sim

import (
	"testing"

	"github.com/peerproof/peerproof/cuda/kernels"
)

func TestPatternIsTheKernels(t *testing.T) {
	for _, size := range []int{1, 7, 8, 31, 32, 33, 100, 4096, 5<<19 + 3} {
		for _, origin := range []uint64{0, 1, 7, 8, 4097} {
			b := make([]byte, size)
			fillPattern(b, 3, origin)
			for _, i := range []int{0, size / 3, size / 2, size - 1} {
				if want := kernels.Pattern(3, origin+uint64(i)); b[i] != want {
					t.Fatalf("byte %d of %d from origin %d: got %#x, want %#x", i, size, origin, b[i], want)
				}
			}
			if wrong, first := verifyPattern(b, 3, origin); wrong != 0 || first != ^uint64(0) {
				t.Fatalf("%d bytes from origin %d: %d wrong, first %d", size, origin, wrong, first)
			}
		}
	}
}

func TestVerifyFindsEveryByte(t *testing.T) {
	for _, size := range []int{1, 8, 50, 2<<20 + 8} {
		for _, origin := range []uint64{5} {
			b := make([]byte, size)
			fillPattern(b, 9, origin)
			seen := map[int]bool{}
			for _, i := range []int{0, 1, size / 2, size - 2, size - 1} {
				if i < 0 || i >= size || seen[i] {
					continue
				}
				seen[i] = true
				b[i] ^= 0x10
				if wrong, first := verifyPattern(b, 9, origin); wrong != 1 || first != origin+uint64(i) {
					t.Errorf("byte %d of %d, origin %d: %d wrong, first %d", i, size, origin, wrong, first)
				}
				b[i] ^= 0x10
			}
			for i := range seen {
				b[i] ^= 0xff
			}
			if wrong, first := verifyPattern(b, 9, origin); wrong != uint64(len(seen)) || first != origin {
				t.Errorf("%d of %d bytes changed, origin %d: %d wrong, first %d", len(seen), size, origin, wrong, first)
			}
		}
	}
}

func TestOtherSeedsAndOriginsDiffer(t *testing.T) {
	b := make([]byte, 4096)
	fillPattern(b, 1, 0)
	if wrong, _ := verifyPattern(b, 2, 0); wrong < 4000 {
		t.Errorf("another seed: %d of 4096 bytes differ", wrong)
	}
	if wrong, _ := verifyPattern(b, 1, 8); wrong < 4000 {
		t.Errorf("another origin: %d of 4096 bytes differ", wrong)
	}
}

func BenchmarkFill(b *testing.B) {
	data := make([]byte, 8<<20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		fillPattern(data, 1, 0)
	}
}

func BenchmarkFillOneCore(b *testing.B) {
	data := make([]byte, 8<<20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		fillPiece(data, 1, 0)
	}
}

func BenchmarkVerify(b *testing.B) {
	data := make([]byte, 8<<20)
	fillPattern(data, 1, 0)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if wrong, _ := verifyPattern(data, 1, 0); wrong != 0 {
			b.Fatal(wrong)
		}
	}
}

func BenchmarkVerifyOneCore(b *testing.B) {
	data := make([]byte, 8<<20)
	fillPattern(data, 1, 0)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if wrong, _ := verifyPiece(data, 1, 0); wrong != 0 {
			b.Fatal(wrong)
		}
	}
}
