package sim

import (
	"encoding/binary"
	"math"
	"math/bits"
	"runtime"
	"sync"

	"github.com/peerproof/peerproof/cuda/kernels"
)

func get(b []byte) uint64    { return binary.LittleEndian.Uint64(b) }
func put(b []byte, v uint64) { binary.LittleEndian.PutUint64(b, v) }

// golden is the step of splitmix64, which kernels.PatternWord finalises.
const golden = 0x9e3779b97f4a7c15

// word is kernels.PatternWord of a state already stepped.
func word(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// inPieces runs work on pieces of a buffer at once, where it is large enough
// to be worth it. All pieces but the first begin at a multiple of eight bytes
// of the pattern.
func inPieces(b []byte, origin uint64, work func(piece []byte, origin uint64)) {
	const worthIt = 1 << 20
	n := min(len(b)/worthIt, runtime.GOMAXPROCS(0))
	if n < 2 {
		work(b, origin)
		return
	}
	var wg sync.WaitGroup
	for i := n; i > 0; i-- {
		size := len(b) / i
		if i > 1 {
			size -= int((origin + uint64(size)) % 8)
		} else {
			size = len(b)
		}
		piece, at := b[:size], origin
		wg.Go(func() { work(piece, at) })
		b, origin = b[size:], origin+uint64(size)
	}
	wg.Wait()
}

// fillPattern writes the pattern of package kernels.
func fillPattern(b []byte, seed, origin uint64) {
	inPieces(b, origin, func(b []byte, origin uint64) { fillPiece(b, seed, origin) })
}

func fillPiece(b []byte, seed, origin uint64) {
	for len(b) > 0 && origin%8 != 0 {
		b[0] = kernels.Pattern(seed, origin)
		b, origin = b[1:], origin+1
	}
	z := seed + (origin/8+1)*golden
	for ; len(b) >= 32; b = b[32:] {
		put(b[0:8], word(z))
		put(b[8:16], word(z+golden))
		put(b[16:24], word(z+golden*2&math.MaxUint64))
		put(b[24:32], word(z+golden*3&math.MaxUint64))
		z += golden * 4 & math.MaxUint64
		origin += 32
	}
	for i := range b {
		b[i] = kernels.Pattern(seed, origin+uint64(i))
	}
}

// verifyPattern counts the bytes that are not the pattern's, and says at which
// offset, origin included, the first of them is; all ones where there is none.
func verifyPattern(b []byte, seed, origin uint64) (wrong, first uint64) {
	var mu sync.Mutex
	first = math.MaxUint64
	inPieces(b, origin, func(b []byte, origin uint64) {
		n, at := verifyPiece(b, seed, origin)
		mu.Lock()
		defer mu.Unlock()
		wrong, first = wrong+n, min(first, at)
	})
	return wrong, first
}

func verifyPiece(b []byte, seed, origin uint64) (wrong, first uint64) {
	first = math.MaxUint64
	single := func(i int) {
		if b[i] != kernels.Pattern(seed, origin+uint64(i)) {
			wrong++
			first = min(first, origin+uint64(i))
		}
	}
	for len(b) > 0 && origin%8 != 0 {
		single(0)
		b, origin = b[1:], origin+1
	}
	z := seed + (origin/8+1)*golden
	for ; len(b) >= 32; b = b[32:] {
		diff := get(b[0:8]) ^ word(z) | get(b[8:16]) ^ word(z+golden) |
			get(b[16:24]) ^ word(z+golden*2&math.MaxUint64) | get(b[24:32]) ^ word(z+golden*3&math.MaxUint64)
		if diff != 0 {
			for i := range 4 {
				n, at := wrongBytes(get(b[8*i:]) ^ word(z+golden*uint64(i)))
				wrong += n
				if n > 0 {
					first = min(first, origin+uint64(8*i)+at)
				}
			}
		}
		z += golden * 4 & math.MaxUint64
		origin += 32
	}
	for i := range b {
		single(i)
	}
	return wrong, first
}

// wrongBytes counts the bytes of a difference that are not zero, and finds the
// lowest of them.
func wrongBytes(diff uint64) (n, first uint64) {
	if diff == 0 {
		return 0, 0
	}
	for d := diff; d != 0; d >>= 8 {
		if d&0xff != 0 {
			n++
		}
	}
	return n, uint64(bits.TrailingZeros64(diff)) / 8
}
