package kernels

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

// host is kernels.cu compiled for the CPU.
type host struct {
	fill   func(threads uint64, p unsafe.Pointer, bytes, seed, origin uint64)
	verify func(threads uint64, p unsafe.Pointer, bytes, seed, origin uint64, result *[2]uint64)
	copy   func(threads uint64, dst, src unsafe.Pointer, bytes uint64)
	add    func(threads uint64, counter *uint64, times uint64)
	gate   func(flag *uint32, nanoseconds uint64)
	load   func(threads uint64, out *uint64, nanoseconds uint64)

	chain    func(threads uint64, p *uint64, count, stride, seed uint64)
	chase    func(p unsafe.Pointer, steps uint64, out *unsafe.Pointer)
	pingpong func(store, load *uint32, rounds, first, nanoseconds uint64, result *[3]uint64, mine, other *uint32)
	litmus   func(block, blocks, mode uint64, x, y *uint32, rounds uint64, out, mine, other *uint32, nanoseconds uint64)

	pattern func(threads uint64, p *uint64, bytes, kind, seed uint64)
	check   func(threads uint64, p *uint64, bytes, kind, seed uint64, result *[3]uint64)
	product func(threads, kind, rounds, seed, reference uint64, out *[2]uint64)
}

// built is what buildHost made, for all tests of the process.
var built struct {
	once sync.Once
	host *host
	err  error
}

func buildHost(tb testing.TB) *host {
	tb.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		tb.Skip("gcc is not installed: the kernels cannot be built for the CPU")
	}
	// What gcc reads, the go command does not see; looking at the sources makes
	// them part of what it caches a result by.
	for _, source := range []string{"kernels.cu", "order.cu", "pattern.cu", "product.cu", "testdata/host.c", "testdata/target.h"} {
		if _, err := os.Stat(source); err != nil {
			tb.Fatal(err)
		}
	}
	built.once.Do(func() { built.host, built.err = compileHost(tb.TempDir()) })
	if built.err != nil {
		tb.Fatal(built.err)
	}
	return built.host
}

func compileHost(dir string) (*host, error) {
	// An access that is not aligned to its type traps, as on a GPU.
	object := filepath.Join(dir, "kernels.so")
	gcc := exec.Command("gcc", "-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror",
		"-fsanitize=alignment,shift,bounds", "-fsanitize-undefined-trap-on-error",
		"-I", "testdata", "-o", object, filepath.Join("testdata", "host.c"))
	if out, err := gcc.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%v: %w\n%s", gcc.Args, err, out)
	}
	library, err := purego.Dlopen(object, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	h := &host{}
	for name, function := range map[string]any{
		"fill": &h.fill, "verify": &h.verify, "copy": &h.copy, "add": &h.add, "gate": &h.gate, "load": &h.load,
		"chain": &h.chain, "chase": &h.chase, "pingpong": &h.pingpong, "litmus": &h.litmus,
		"pattern": &h.pattern, "check": &h.check, "product": &h.product,
	} {
		purego.RegisterLibFunc(function, library, "host_"+name)
	}
	return h, nil
}

const (
	guardByte = 0xa5
	room      = 4096 // most bytes of a range
	guards    = 64   // before and after it
)

// aligned is zeroed memory for a range at an alignment of 0 to 31 bytes, with
// guards around it.
func aligned(alignment uint64) []byte {
	raw := make([]byte, room+2*guards+128)
	skip := -uintptr(unsafe.Pointer(&raw[0])) & 63
	memory := raw[uint64(skip)+alignment:][: room+2*guards : room+2*guards]
	for i := range memory {
		memory[i] = guardByte
	}
	return memory
}

func guarded(memory []byte, bytes uint64) bool {
	for _, b := range memory[:guards] {
		if b != guardByte {
			return false
		}
	}
	for _, b := range memory[guards+bytes:] {
		if b != guardByte {
			return false
		}
	}
	return true
}

func pattern(seed, origin, n uint64) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = Pattern(seed, origin+uint64(i))
	}
	return p
}

func (h *host) tryFill(t *testing.T, alignment, n, seed, origin, threads uint64) {
	t.Helper()
	memory := aligned(alignment)
	h.fill(threads, unsafe.Pointer(&memory[guards]), n, seed, origin)
	if !bytes.Equal(memory[guards:guards+n], pattern(seed, origin, n)) || !guarded(memory, n) {
		t.Errorf("fill: alignment %d, %d bytes, seed %#x, origin %d, %d threads: wrong bytes", alignment, n, seed, origin, threads)
	}
}

// tryVerify flips one bit of the byte at each offset in wrong.
func (h *host) tryVerify(t *testing.T, alignment, n, seed, origin, threads uint64, wrong ...uint64) {
	t.Helper()
	memory := aligned(alignment)
	copy(memory[guards:], pattern(seed, origin, n))
	want := [2]uint64{0, ^uint64(0)}
	for _, offset := range wrong {
		b := &memory[guards+offset]
		if good := Pattern(seed, origin+offset); *b == good {
			want[0]++
			*b ^= 1 << (offset * 5 % 8)
		}
		want[1] = min(want[1], origin+offset)
	}
	got := [2]uint64{0, ^uint64(0)}
	h.verify(threads, unsafe.Pointer(&memory[guards]), n, seed, origin, &got)
	if got != want {
		t.Errorf("verify: alignment %d, %d bytes, seed %#x, origin %d, %d threads, wrong at %v: count and first are %v, want %v",
			alignment, n, seed, origin, threads, wrong, got, want)
	}
}

func (h *host) tryCopy(t *testing.T, to, from, n, threads uint64) {
	t.Helper()
	dst, src := aligned(to), aligned(from)
	want := pattern(1, 0, n)
	copy(src[guards:], want)
	h.copy(threads, unsafe.Pointer(&dst[guards]), unsafe.Pointer(&src[guards]), n)
	if !bytes.Equal(dst[guards:guards+n], want) || !guarded(dst, n) {
		t.Errorf("copy: to alignment %d from %d, %d bytes, %d threads: wrong bytes", to, from, n, threads)
	}
}

var (
	sizes   = []uint64{0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 1000, 4095, 4096}
	origins = []uint64{0, 1, 7, 8, 13, 1<<40 + 3}
	threads = []uint64{1, 3, 32, 100}
)

func TestHostFillAndVerify(t *testing.T) {
	h := buildHost(t)
	for alignment := range uint64(17) {
		for _, n := range sizes {
			for i, origin := range origins {
				with := threads[i%len(threads)]
				h.tryFill(t, alignment, n, 0xb0a7, origin, with)
				h.tryVerify(t, alignment, n, 0xb0a7, origin, with)
				if n > 0 {
					h.tryVerify(t, alignment, n, 0xb0a7, origin, with, 0)
					h.tryVerify(t, alignment, n, 0xb0a7, origin, with, n-1, n/2)
				}
			}
		}
	}
}

func TestHostVerifyCountsEveryByte(t *testing.T) {
	h := buildHost(t)
	memory := aligned(3)
	clear(memory[guards : guards+room])
	var want uint64
	first := ^uint64(0)
	for i := uint64(0); i < room; i++ {
		if Pattern(9, 5+i) != 0 {
			want++
			first = min(first, 5+i)
		}
	}
	got := [2]uint64{0, ^uint64(0)}
	h.verify(7, unsafe.Pointer(&memory[guards]), room, 9, 5, &got)
	if got != [2]uint64{want, first} {
		t.Errorf("count and first are %v, want [%d %d]", got, want, first)
	}
}

func TestHostCopy(t *testing.T) {
	h := buildHost(t)
	for to := range uint64(17) {
		for from := range uint64(17) {
			for i, n := range sizes {
				h.tryCopy(t, to, from, n, threads[i%len(threads)])
			}
		}
	}
}

// FuzzHost tries random ranges; its seeds run with every test.
func FuzzHost(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		f.Add(random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64())
	}
	h := buildHost(f)
	f.Fuzz(func(t *testing.T, a, seed, origin, b uint64) {
		n := 1 + a%room
		with := 1 + b%300
		h.tryFill(t, a>>16%32, n, seed, origin>>1, with)
		h.tryVerify(t, a>>24%32, n, seed, origin>>1, with, b>>8%n, b>>24%n, b>>40%n)
		h.tryCopy(t, a>>32%32, a>>40%32, n, with)
	})
}

func TestHostGateOpens(t *testing.T) {
	h := buildHost(t)
	flag := uint32(0)
	start := time.Now()
	h.gate(&flag, uint64(20*time.Millisecond))
	if took := time.Since(start); took < 20*time.Millisecond {
		t.Errorf("a closed gate opened after %v, before its time", took)
	}
	go func() {
		time.Sleep(10 * time.Millisecond)
		atomic.StoreUint32(&flag, 1)
	}()
	start = time.Now()
	h.gate(&flag, uint64(time.Minute))
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("an opened gate held for %v", took)
	}
}

func TestHostLoadLastsAsLongAsItSays(t *testing.T) {
	h := buildHost(t)
	var rounds uint64
	start := time.Now()
	h.load(2, &rounds, uint64(10*time.Millisecond))
	if took := time.Since(start); took < 20*time.Millisecond || rounds == 0 {
		t.Errorf("two threads of 10 ms took %v and counted %d rounds", took, rounds)
	}
}
