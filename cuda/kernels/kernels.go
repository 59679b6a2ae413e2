// Package kernels holds the GPU code: CUDA C++ sources, the PTX that clang
// makes of them, and what a caller needs to launch them. Every parameter of
// every kernel is 64 bits wide. Where a kernel takes an address, it is aligned
// to what it points at.
//
// # Data
//
//	fill(ptr, bytes, seed, origin)
//	    writes the pattern: byte i of ptr becomes Pattern(seed, origin+i).
//	verify(ptr, bytes, seed, origin, result)
//	    compares every byte with the pattern. result points at two uint64 in
//	    device memory, {count, first}, that the caller set to {0, ^0}: the
//	    number of wrong bytes, and the least wrong offset, origin included.
//	copy(dst, src, bytes)
//	    loads from src and stores to dst with the SMs; the ranges are disjoint.
//	add(counter, times)
//	    every thread adds 1 to the uint64 at counter so many times, atomically
//	    among all GPUs and the host; in all, grid*block*times.
//
// # Time
//
//	gate(flag, nanoseconds)
//	    spins until the uint32 at flag is not zero, or the time is over.
//	load(out, nanoseconds)
//	    keeps the SMs busy with multiply-adds for that long and stores one
//	    uint64 to out.
//	chain(ptr, count, stride, seed)
//	    links count elements, a power of two, at ptr+i*stride into one cycle:
//	    the uint64 at element i becomes the address of element
//	    ChainNext(seed, count, i).
//	chase(ptr, steps, out)
//	    follows so many links from ptr on, each load after the one before and
//	    none from a cache of this GPU that another's store would not reach, and
//	    stores the last address, a uint64, to out: that of element
//	    ChainAfter(seed, count, steps) where ptr is element 0.
//
// # Order
//
// These two run on two GPUs (or on two streams of one) at once, in pairs. What
// they meet through, ready_mine and ready_other, lies in pinned host memory, so
// that evidence of running at once never depends on the pair under test; the
// one's ready_mine is the other's ready_other. All waits end when nanoseconds
// since the kernel's own start are over.
//
//	pingpong(store_flag, load_flag, rounds, first, nanoseconds, result, ready_mine, ready_other)
//	    after the meeting (one uint32 each, 0 before), the side with first = 1
//	    stores 1, 2, ... to the uint32 at store_flag, release at system scope,
//	    and waits for the same number at load_flag, acquire at system scope; the
//	    other, with first = 0, waits first and then answers. Flags are 0 before.
//	    result points at three uint64: {rounds done, nanoseconds of the rounds,
//	    1 where both met}. rounds is below 1<<32.
//	litmus(mode, x, y, rounds, out, ready_mine, ready_other, nanoseconds)
//	    runs one side of a test of the memory model, LitmusMode says which. x
//	    and y point at rounds uint32 each, 0 before, the same for both sides;
//	    round i uses x[i] and y[i], in different 128-byte lines where the two
//	    arrays are apart. The two sides meet before every LitmusGrid*LitmusBlock
//	    rounds, block by block: ready_mine and ready_other point at LitmusGrid
//	    uint32 each, 0 before. out points at rounds+1 uint32 that the side has
//	    for itself, out[rounds] 0 before: out[i] becomes what the side saw in
//	    round i, and out[rounds] the number of rounds that began after a
//	    meeting. Where that is not rounds, the two did not run at once
//	    throughout. rounds is below 1<<32.
//
//	    What a side sees: in message passing side 1 sees y[i] | x[i]<<1 and
//	    side 0, which stores x then y, sees 0; 1 is forbidden. In store buffering
//	    side 0 stores x and sees y, side 1 stores y and sees x; 0 for both is
//	    forbidden. In load buffering side 0 sees x then stores y, side 1 sees y
//	    then stores x; 1 for both is forbidden.
//
// # Endurance
//
//	pattern(ptr, bytes, kind, seed)
//	    writes a memory test pattern: the uint64 with number i, at address a,
//	    becomes TestWord(kind, seed, a, i). ptr is a multiple of 16, bytes one
//	    of 8.
//	check(ptr, bytes, kind, seed, result)
//	    compares every word. result points at three uint64 in device memory,
//	    {count, first, flipped}, that the caller set to {0, ^0, 0}: the number
//	    of wrong words, the byte offset of the first one, and every bit that is
//	    wrong in any of them. So with a count of 1 what was read is
//	    TestWord(...) ^ flipped.
//	product(kind, rounds, seed, reference, out)
//	    computes products of small integers in floating point, where they are
//	    exact: kind ProductFP32 by chains of multiply-adds, kind ProductTensor
//	    by tensor cores (16x16x16, half precision in, single out). Operands
//	    follow from seed, and every result is compared with integer arithmetic
//	    on operands from reference, which is seed but for a test of the test.
//	    out points at two uint64, {wrong, checked}, to which the kernel adds.
//	    Each thread does ProductFP32Flops*rounds floating point operations, or
//	    each warp ProductTensorFlops*rounds. Launch it in blocks of ProductBlock
//	    threads.
//
// fill, verify, copy, chain, pattern and check divide their work among all
// threads of any grid; add, load and product do theirs once a thread. gate, chase
// and pingpong are launched as one thread, litmus as LitmusGrid blocks of
// LitmusBlock threads.
package kernels

// Names of the kernels.
const (
	Fill     = "fill"
	Verify   = "verify"
	Copy     = "copy"
	Add      = "add"
	Gate     = "gate"
	Load     = "load"
	Chain    = "chain"
	Chase    = "chase"
	PingPong = "pingpong"
	Litmus   = "litmus"
	// Test patterns; Pattern is what fill writes.
	TestPattern  = "pattern"
	CheckPattern = "check"
	Product      = "product"
)

// Params is the number of 64-bit parameters of each kernel.
var Params = map[string]int{
	Fill: 4, Verify: 5, Copy: 3, Add: 2, Gate: 2, Load: 2, Chain: 4, Chase: 3,
	PingPong: 8, Litmus: 8, TestPattern: 4, CheckPattern: 5, Product: 5,
}

// The tests of kernel litmus.
const (
	LitmusMessagePassing = 0 // release store, acquire load
	LitmusStoreBuffering = 1 // fence.sc between store and load
	LitmusLoadBuffering  = 2 // acquire load, release store
)

// How litmus is launched. Every block of both sides has to be resident at once;
// a GPU of 40 SMs or more holds both sides in loopback.
const (
	LitmusGrid  = 64
	LitmusBlock = 128
)

// LitmusMode is litmus's first parameter: a test, a side of it (0 or 1), and
// whether to leave out its fences, release and acquire, where no outcome is
// forbidden.
func LitmusMode(test, side uint64, relaxed bool) uint64 {
	mode := test | side<<8
	if relaxed {
		mode |= 1 << 16
	}
	return mode
}

// Kinds of product.
const (
	ProductFP32   = 0
	ProductTensor = 1
)

// How product is launched, and what a round of it is.
const (
	ProductBlock       = 256
	ProductFP32Flops   = 8 * 7                // of a thread: chains times operations
	ProductTensorFlops = 4 * 2 * 16 * 16 * 16 // of a warp: tiles times operations
)

// Kinds of test pattern.
const (
	TestAddress      = iota // each word holds its own address
	TestCheckerboard        // 0x5555...
	TestInverse             // 0xaaaa...
	TestWalkingOnes         // one bit is set, the next in each next word
	TestWalkingZeros        // one bit is clear
	TestRandom              // PatternWord
	TestKinds               // how many there are
)

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

// TestWord is the word with number index, at a device address, of a test
// pattern. Only TestAddress depends on the address, and the last three kinds on
// seed and index.
func TestWord(kind, seed, address, index uint64) uint64 {
	switch kind {
	case TestAddress:
		return address
	case TestCheckerboard:
		return 0x5555555555555555
	case TestInverse:
		return 0xaaaaaaaaaaaaaaaa
	case TestWalkingOnes:
		return 1 << ((index + seed) % 64)
	case TestWalkingZeros:
		return ^(uint64(1) << ((index + seed) % 64))
	default:
		return PatternWord(seed, index)
	}
}

// ChainNext is the element after element index in the cycle that chain makes
// of count elements, a power of two.
func ChainNext(seed, count, index uint64) uint64 {
	a, c := chainStep(seed)
	return (a*index + c) & (count - 1)
}

// ChainAfter is the element so many steps after element 0.
func ChainAfter(seed, count, steps uint64) uint64 {
	var index uint64
	// (a, c) is the map of 1, 2, 4, ... steps.
	for a, c := chainStep(seed); steps != 0; steps >>= 1 {
		if steps&1 != 0 {
			index = a*index + c
		}
		a, c = a*a, a*c+c
	}
	return index & (count - 1)
}

// chainStep is the linear congruence of a chain. With a one more than a
// multiple of four and c odd it passes through all numbers below any power of
// two before it repeats one (Hull and Dobell, 1962).
func chainStep(seed uint64) (a, c uint64) {
	return PatternWord(seed, 0)&^3 | 1, PatternWord(seed, 1) | 1
}
