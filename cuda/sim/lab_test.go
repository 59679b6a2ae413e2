package sim

import (
	"encoding/binary"
	"testing"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/kernels"
)

// lab is a simulated process under test through package cuda's own types, as
// the suites use it.
type lab struct {
	testing.TB
	bundle  *cuda.Bundle
	api     *cuda.API
	devices []*cuda.Device
	ctx     []*cuda.Context
	streams []*cuda.Stream
	modules []*cuda.Module
}

func newLab(tb testing.TB, text string) *lab {
	tb.Helper()
	l := &lab{TB: tb, bundle: parse(tb, text).Open(History{})}
	api, err := l.bundle.OpenCUDA()
	l.must(err)
	l.api = api
	driver := cuda.NewDriver(api)
	l.must(driver.Init())
	n, err := driver.Count()
	l.must(err)
	for i := range n {
		dev := get1(driver.Device(i))(tb)
		c := get1(dev.Retain())(tb)
		l.devices = append(l.devices, dev)
		l.ctx = append(l.ctx, c)
		l.streams = append(l.streams, get1(c.NewStream())(tb))
		l.modules = append(l.modules, get1(c.LoadModule(kernels.PTX()))(tb))
	}
	return l
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// get1 is a value that must come without an error.
func get1[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

// code is the driver's result in an error.
func code(err error) cuda.Result {
	c, ok := cuda.Code(err)
	if err != nil && !ok {
		return -1
	}
	return c
}

func (l *lab) enableAll() {
	l.Helper()
	for _, a := range l.ctx {
		for _, b := range l.ctx {
			if a != b {
				l.must(a.EnablePeer(b))
			}
		}
	}
}

func (l *lab) alloc(gpu int, bytes uint64) *cuda.Buffer {
	l.Helper()
	return get1(l.ctx[gpu].Alloc(bytes))(l)
}

// launch queues a kernel of one block on a GPU's stream.
func (l *lab) launch(gpu int, name string, args ...uint64) {
	l.Helper()
	l.launchOn(l.streams[gpu], gpu, 1, 32, name, args...)
}

func (l *lab) launchOn(s *cuda.Stream, gpu int, grid, block uint32, name string, args ...uint64) {
	l.Helper()
	fn := get1(l.modules[gpu].Function(name))(l)
	l.must(s.Launch(fn, grid, block, args...))
}

func (l *lab) sync(gpu int) { l.Helper(); l.must(l.streams[gpu].Synchronize()) }

// fill has a GPU write a pattern, and waits.
func (l *lab) fill(gpu int, b *cuda.Buffer, seed uint64) {
	l.Helper()
	l.launch(gpu, kernels.Fill, uint64(b.Ptr()), b.Bytes(), seed, 0)
	l.sync(gpu)
}

// wrong is how many bytes of a buffer are not the pattern's to a GPU, and the
// first of them.
func (l *lab) wrong(gpu int, b *cuda.Buffer, seed uint64) (count, first uint64) {
	l.Helper()
	sum := l.alloc(gpu, 16)
	defer sum.Close()
	l.put(gpu, sum, 0, 0, ^uint64(0))
	l.launch(gpu, kernels.Verify, uint64(b.Ptr()), b.Bytes(), seed, 0, uint64(sum.Ptr()))
	got := l.get(gpu, sum, 0, 2)
	return got[0], got[1]
}

// put writes words to a buffer from the host, and get reads them.
func (l *lab) put(gpu int, b *cuda.Buffer, offset uint64, words ...uint64) {
	l.Helper()
	h := get1(l.ctx[gpu].AllocHost(uint64(8 * len(words))))(l)
	defer h.Close()
	for i, w := range words {
		binary.LittleEndian.PutUint64(h.Data()[8*i:], w)
	}
	l.must(l.streams[gpu].CopyHtoD(b, offset, h, 0, h.Size()))
	l.sync(gpu)
}

func (l *lab) get(gpu int, b *cuda.Buffer, offset uint64, n int) []uint64 {
	l.Helper()
	h := get1(l.ctx[gpu].AllocHost(uint64(8 * n)))(l)
	defer h.Close()
	l.must(l.streams[gpu].CopyDtoH(h, 0, b, offset, h.Size()))
	l.sync(gpu)
	words := make([]uint64, n)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(h.Data()[8*i:])
	}
	return words
}

// seconds is how long what op queues on a stream takes.
func (l *lab) seconds(s *cuda.Stream, op func()) float64 {
	l.Helper()
	start, end := get1(s.Context().NewEvent(true))(l), get1(s.Context().NewEvent(true))(l)
	l.must(s.Record(start))
	op()
	l.must(s.Record(end))
	l.must(s.Synchronize())
	took := get1(end.Since(start))(l)
	return took.Seconds()
}
