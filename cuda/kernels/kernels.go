// Package kernels holds the GPU code: CUDA C++ sources, the PTX that clang
// makes of them, and what a caller needs to launch them. Every parameter of
// every kernel is 64 bits wide.
//
//	fill(ptr, bytes, seed, origin)
//	    writes the pattern: byte i of ptr becomes Pattern(seed, origin+i).
//	verify(ptr, bytes, seed, origin, result)
//	    compares every byte with the pattern. result points at two uint64 in
//	    device memory, {count, first}, that the caller set to {0, ^0}: the
//	    number of wrong bytes, and the least wrong offset, origin included.
//	copy(dst, src, bytes)
//	    loads from src and stores to dst with the SMs; the ranges are disjoint.
//	gate(flag, nanoseconds)
//	    spins until the uint32 at flag is not zero, or the time is over.
//	load(out, nanoseconds)
//	    keeps the SMs busy with multiply-adds for that long and stores one
//	    uint64 to out.
//
// fill, verify and copy are grid-stride loops: any grid and block is right.
// gate is launched as one thread.
package kernels

// Names of the kernels.
const (
	Fill   = "fill"
	Verify = "verify"
	Copy   = "copy"
	Gate   = "gate"
	Load   = "load"
)

// Params is the number of 64-bit parameters of each kernel.
var Params = map[string]int{Fill: 4, Verify: 5, Copy: 3, Gate: 2, Load: 2}

// PatternWord is the 64-bit word, little-endian in memory, that covers the
// bytes 8*index to 8*index+7 of a pattern. It is the splitmix64 finaliser of
// seed and index, so that no offset of a buffer repeats another one's bytes.
func PatternWord(seed, index uint64) uint64 {
	z := seed + (index+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Pattern is the byte at an offset of a pattern, in bytes from its origin.
func Pattern(seed, offset uint64) byte {
	return byte(PatternWord(seed, offset/8) >> (8 * (offset % 8)))
}
