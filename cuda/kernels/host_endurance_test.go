package kernels

import (
	"testing"
	"unsafe"
)

// words is zeroed memory, aligned to 16 bytes, of n words and two guards.
func words(n uint64) []uint64 {
	raw := make([]uint64, n+4)
	if uintptr(unsafe.Pointer(&raw[0]))%16 != 0 {
		raw = raw[1:]
	}
	raw[n], raw[n+1] = guardByte, guardByte
	return raw[:n+2]
}

func TestHostPatternAndCheck(t *testing.T) {
	h := buildHost(t)
	for kind := range uint64(TestKinds) {
		for i, n := range []uint64{0, 1, 2, 3, 4, 63, 64, 65, 500} {
			with, seed := threads[i%len(threads)], uint64(i)*77
			memory := words(n)
			base := uint64(uintptr(unsafe.Pointer(&memory[0])))
			h.pattern(with, &memory[0], 8*n, kind, seed)
			for j := range n {
				if want := TestWord(kind, seed, base+8*j, j); memory[j] != want {
					t.Fatalf("pattern: kind %d, %d words, %d threads: word %d is %#x, want %#x", kind, n, with, j, memory[j], want)
				}
			}
			if memory[n] != guardByte || memory[n+1] != guardByte {
				t.Errorf("pattern: kind %d, %d words: writes past the end", kind, n)
			}
			expect := func(what string, want [3]uint64) {
				t.Helper()
				got := [3]uint64{0, ^uint64(0), 0}
				h.check(with, &memory[0], 8*n, kind, seed, &got)
				if got != want {
					t.Errorf("check: kind %d, %d words, %d threads, %s: %#x, want %#x", kind, n, with, what, got, want)
				}
			}
			expect("all right", [3]uint64{0, ^uint64(0), 0})
			if n == 0 {
				continue
			}
			memory[n-1] ^= 1 << 63
			expect("the last wrong", [3]uint64{1, 8 * (n - 1), 1 << 63})
			memory[n/2] ^= 1<<5 | 1<<63
			memory[n/3] ^= 1 << 17
			var want [3]uint64
			want[1] = ^uint64(0)
			for j := range n {
				if d := memory[j] ^ TestWord(kind, seed, base+8*j, j); d != 0 {
					want[0]++
					want[1] = min(want[1], 8*j)
					want[2] |= d
				}
			}
			expect("three wrong", want)
		}
	}
}

// Neighbouring words of the walking patterns differ, and every bit has its turn.
func TestTestWords(t *testing.T) {
	var ones, zeros uint64
	for i := range uint64(64) {
		one, zero := TestWord(TestWalkingOnes, 3, 0, i), TestWord(TestWalkingZeros, 3, 0, i)
		if one != ^zero || ones&one != 0 {
			t.Errorf("word %d walks %#x and %#x", i, one, zero)
		}
		ones, zeros = ones|one, zeros|^zero
	}
	if ones != ^uint64(0) || zeros != ^uint64(0) {
		t.Errorf("after 64 words %#x were set and %#x clear", ones, zeros)
	}
	if TestWord(TestWalkingOnes, 1, 0, 63) != 1 {
		t.Error("the seed does not shift the walk")
	}
	if TestWord(TestAddress, 9, 0x1238, 5) != 0x1238 || TestWord(TestRandom, 9, 0, 5) != PatternWord(9, 5) {
		t.Error("address or random is wrong")
	}
	if TestWord(TestCheckerboard, 0, 0, 0) != ^TestWord(TestInverse, 0, 0, 0) {
		t.Error("the checkerboards are not each other's inverse")
	}
}

func TestHostProduct(t *testing.T) {
	h := buildHost(t)
	for _, c := range []struct {
		name    string
		kind    uint64
		rounds  uint64
		threads uint64
		checked uint64
	}{
		{"fp32, nothing done", ProductFP32, 0, 2, 2 * 8},
		{"fp32, one step", ProductFP32, 1, 2, 2 * 8},
		{"fp32, many steps", ProductFP32, 100001, 3, 3 * 8},
		{"tensor, one product", ProductTensor, 1, 2, 2 * 4 * 256},
		{"tensor, several", ProductTensor, 7, 1, 4 * 256},
		// Past what is summed up before a comparison.
		{"tensor, many", ProductTensor, 4099, 1, 2 * 4 * 256},
	} {
		for seed := range uint64(3) {
			if c.rounds > 1000 && seed > 0 {
				continue // they take long
			}
			var out [2]uint64
			h.product(c.threads, c.kind, c.rounds, seed, seed, &out)
			if out != [2]uint64{0, c.checked} {
				t.Errorf("%s, seed %d: wrong and checked are %d, want [0 %d]", c.name, seed, out, c.checked)
			}
			out = [2]uint64{}
			h.product(c.threads, c.kind, c.rounds, seed, seed+1, &out)
			if out[0] < c.checked*3/4 || out[1] != c.checked {
				t.Errorf("%s, seed %d against another's reference: wrong and checked are %d", c.name, seed, out)
			}
		}
	}
}
