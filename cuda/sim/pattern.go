package sim

import (
	"encoding/binary"
	"math"
	"math/bits"
	"runtime"
	"sync"
	"unsafe"

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
	for w := words(b); len(w) >= 4; w = w[4:] {
		w[0] = word(z)
		w[1] = word(z + step1)
		w[2] = word(z + step2)
		w[3] = word(z + step3)
		z += step4
		b, origin = b[32:], origin+32
	}
	for ; len(b) >= 8; b = b[8:] {
		put(b, word(z))
		z += golden
		origin += 8
	}
	for i := range b {
		b[i] = kernels.Pattern(seed, origin+uint64(i))
	}
}

// The steps of several words, which overflow as uint64 arithmetic does.
const (
	step1 = golden
	step2 = golden * 2 & math.MaxUint64
	step3 = golden * 3 & math.MaxUint64
	step4 = golden * 4 & math.MaxUint64
)

// words is a buffer as 64-bit words of a little-endian machine, which every
// host of an NVIDIA GPU is; nil where it is not aligned.
func words(b []byte) []uint64 {
	at := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(at)%8 != 0 {
		return nil
	}
	return unsafe.Slice((*uint64)(at), len(b)/8)
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
	found := func(diff uint64, at uint64) {
		n, i := wrongBytes(diff)
		wrong += n
		if n > 0 {
			first = min(first, at+i)
		}
	}
	for len(b) > 0 && origin%8 != 0 {
		found(uint64(b[0]^kernels.Pattern(seed, origin)), origin)
		b, origin = b[1:], origin+1
	}
	z := seed + (origin/8+1)*golden
	for w := words(b); len(w) >= 4; w = w[4:] {
		d0, d1, d2, d3 := w[0]^word(z), w[1]^word(z+step1), w[2]^word(z+step2), w[3]^word(z+step3)
		if d0|d1|d2|d3 != 0 {
			found(d0, origin)
			found(d1, origin+8)
			found(d2, origin+16)
			found(d3, origin+24)
		}
		z += step4
		b, origin = b[32:], origin+32
	}
	for ; len(b) >= 8; b = b[8:] {
		found(get(b)^word(z), origin)
		z += golden
		origin += 8
	}
	for i := range b {
		found(uint64(b[i]^kernels.Pattern(seed, origin+uint64(i))), origin+uint64(i))
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
