package sim

import (
	"math"
	"sync"

	"github.com/peerproof/peerproof/cuda/kernels"
)

// words is the launch's memory of so many bytes in 64-bit words from an address
// on. The kernel would run into a misaligned one.
func (l *launch) words(ptr, bytes uint64) span {
	if ptr%16 != 0 || bytes%8 != 0 {
		l.illegal = true
	}
	return l.span(ptr, bytes)
}

func (l *launch) pattern() {
	ptr, bytes, kind, seed := l.args[0], l.args[1], l.args[2], l.args[3]
	if bytes == 0 {
		return
	}
	dst := l.words(ptr, bytes)
	o := &operation{writes: []span{dst}}
	if l.begin(o) {
		l.p.store(o, dst, l.p.damageTo(o, &dst, nil), func(b []byte) {
			inPieces(b, 0, func(b []byte, offset uint64) { writeWords(b, kind, seed, ptr, offset/8) })
		})
	}
	if !l.illegal {
		l.p.timeStore(o, dst)
	}
}

// check sees stale bytes as verify does.
func (l *launch) check() {
	ptr, bytes, kind, seed, result := l.args[0], l.args[1], l.args[2], l.args[3], l.args[4]
	if bytes == 0 {
		return
	}
	src, sum := l.words(ptr, bytes), l.span(result, 24)
	o := &operation{reads: []span{src}}
	if l.begin(o) {
		found := newMismatches()
		var mu sync.Mutex
		inPieces(l.loaded(o, src), 0, func(b []byte, offset uint64) {
			m := checkWords(b, kind, seed, ptr, offset/8)
			mu.Lock()
			defer mu.Unlock()
			found.add(m)
		})
		l.result(o, sum, func(b []byte) {
			before := mismatches{get(b), get(b[8:]), get(b[16:])}
			found.add(before)
			put(b, found.count)
			put(b[8:], found.first)
			put(b[16:], found.flipped)
		})
	}
	if !l.illegal {
		l.p.timeStore(o, src)
	}
}

// writeWords writes the words of a test pattern from number index on; base is
// the address of number 0. What is left of b is no whole word.
func writeWords(b []byte, kind, seed, base, index uint64) {
	w := words(b[:len(b)/8*8])
	switch kind {
	case kernels.TestAddress:
		a := base + 8*index
		for i := range w {
			w[i] = a
			a += 8
		}
	case kernels.TestCheckerboard, kernels.TestInverse:
		v := kernels.TestWord(kind, 0, 0, 0)
		for i := range w {
			w[i] = v
		}
	case kernels.TestWalkingOnes, kernels.TestWalkingZeros:
		for i := range w {
			w[i] = kernels.TestWord(kind, seed, 0, index+uint64(i))
		}
	default:
		fillPiece(b[:len(w)*8], seed, 8*index)
	}
	// A fault may let only part of a word arrive.
	if rest := b[len(w)*8:]; len(rest) > 0 {
		var last [8]byte
		i := index + uint64(len(w))
		put(last[:], kernels.TestWord(kind, seed, base+8*i, i))
		copy(rest, last[:])
	}
}

// mismatches is what check adds to its result.
type mismatches struct{ count, first, flipped uint64 }

func newMismatches() mismatches { return mismatches{first: math.MaxUint64} }

func (m *mismatches) add(n mismatches) {
	m.count, m.first, m.flipped = m.count+n.count, min(m.first, n.first), m.flipped|n.flipped
}

// note counts a word that differs from its pattern.
func (m *mismatches) note(difference, index uint64) {
	if difference != 0 {
		m.add(mismatches{1, 8 * index, difference})
	}
}

// checkWords compares what writeWords writes.
func checkWords(b []byte, kind, seed, base, index uint64) mismatches {
	m, w := newMismatches(), words(b)
	switch kind {
	case kernels.TestAddress:
		a := base + 8*index
		for i := range w {
			if w[i] != a {
				m.note(w[i]^a, index+uint64(i))
			}
			a += 8
		}
	case kernels.TestCheckerboard, kernels.TestInverse:
		v := kernels.TestWord(kind, 0, 0, 0)
		for i := range w {
			if w[i] != v {
				m.note(w[i]^v, index+uint64(i))
			}
		}
	case kernels.TestWalkingOnes, kernels.TestWalkingZeros:
		for i := range w {
			m.note(w[i]^kernels.TestWord(kind, seed, 0, index+uint64(i)), index+uint64(i))
		}
	default:
		z := seed + (index+1)*golden
		for i := range w {
			if d := w[i] ^ word(z); d != 0 {
				m.note(d, index+uint64(i))
			}
			z += golden
		}
	}
	return m
}
