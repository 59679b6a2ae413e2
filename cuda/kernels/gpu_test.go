package kernels_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/kernels"
)

// These tests need a GPU. With PEERPROOF_REAL_GPU=1 they run, and fail where
// there is none; `go test -c ./cuda/kernels` makes one file of them to carry to
// a machine that has one.
const realGPU = "PEERPROOF_REAL_GPU"

// gpu is one GPU with what the tests need on it.
type gpu struct {
	*testing.T
	driver  *cuda.Driver
	context *cuda.Context
	stream  *cuda.Stream
	other   *cuda.Stream // the other GPU's part, where two would take part
	kernel  map[string]*cuda.Function
	result  *cuda.Buffer     // 64 bytes
	host    *cuda.HostBuffer // 32 MiB
	source  *cuda.Buffer     // a quarter of what is free, at most 512 MiB
	sink    *cuda.Buffer     // the same
}

func value[V any](t *testing.T) func(V, error) V {
	return func(v V, err error) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func openGPU(t *testing.T) *gpu {
	t.Helper()
	if os.Getenv(realGPU) == "" {
		t.Skip("set " + realGPU + "=1 on a machine with a GPU")
	}
	api, err := cuda.OpenCUDA()
	if err != nil {
		t.Fatal(err)
	}
	g := &gpu{T: t, driver: cuda.NewDriver(api), kernel: map[string]*cuda.Function{}}
	g.must(g.driver.Init())
	dev := value[*cuda.Device](t)(g.driver.Device(0))
	g.context = value[*cuda.Context](t)(dev.Retain())
	g.stream = value[*cuda.Stream](t)(g.context.NewStream())
	g.other = value[*cuda.Stream](t)(g.context.NewStream())
	module := value[*cuda.Module](t)(g.context.LoadModule(kernels.PTX()))
	for name := range kernels.Params {
		g.kernel[name] = value[*cuda.Function](t)(module.Function(name))
	}
	free, _, err := g.context.MemInfo()
	g.must(err)
	size := min(512<<20, free/4&^(1<<20-1))
	g.result = value[*cuda.Buffer](t)(g.context.Alloc(64))
	g.host = value[*cuda.HostBuffer](t)(g.context.AllocHost(min(32<<20, size)))
	g.source = value[*cuda.Buffer](t)(g.context.Alloc(size))
	g.sink = value[*cuda.Buffer](t)(g.context.Alloc(size))
	t.Cleanup(func() {
		for _, c := range []interface{ Close() error }{g.result, g.host, g.source, g.sink, g.stream, g.other, module, g.context} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return g
}

func (g *gpu) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

func (g *gpu) launch(kernel string, params ...uint64) {
	g.Helper()
	g.launchOn(g.stream, kernel, params...)
}

func (g *gpu) launchOn(s *cuda.Stream, kernel string, params ...uint64) {
	g.Helper()
	grid, block := uint32(1024), uint32(256)
	switch kernel {
	case kernels.Gate, kernels.Chase, kernels.PingPong:
		grid, block = 1, 1
	case kernels.Litmus:
		grid, block = kernels.LitmusGrid, kernels.LitmusBlock
	}
	if len(params) != kernels.Params[kernel] {
		g.Fatalf("%s takes %d parameters", kernel, kernels.Params[kernel])
	}
	g.must(s.Launch(g.kernel[kernel], grid, block, params...))
}

// seconds is how long the GPU takes for what op queues.
func (g *gpu) seconds(op func()) float64 {
	g.Helper()
	start, end := value[*cuda.Event](g.T)(g.context.NewEvent(true)), value[*cuda.Event](g.T)(g.context.NewEvent(true))
	g.must(g.stream.Record(start))
	op()
	g.must(g.stream.Record(end))
	g.must(g.stream.Synchronize())
	took := value[time.Duration](g.T)(end.Since(start))
	g.must(errors.Join(start.Close(), end.Close()))
	return took.Seconds()
}

// verify is the count of wrong bytes and the first one's offset.
func (g *gpu) verify(b *cuda.Buffer, offset, n, seed, origin uint64) [2]uint64 {
	g.Helper()
	report := g.host.Data()[:16]
	binary.LittleEndian.PutUint64(report, 0)
	binary.LittleEndian.PutUint64(report[8:], math.MaxUint64)
	g.must(g.stream.CopyHtoD(g.result, 0, g.host, 0, 16))
	g.launch(kernels.Verify, uint64(b.Ptr())+offset, n, seed, origin, uint64(g.result.Ptr()))
	g.must(g.stream.CopyDtoH(g.host, 0, g.result, 0, 16))
	g.must(g.stream.Synchronize())
	return [2]uint64{binary.LittleEndian.Uint64(report), binary.LittleEndian.Uint64(report[8:])}
}

// read is a range of device memory, through the host buffer.
func (g *gpu) read(b *cuda.Buffer, offset, n uint64) []byte {
	g.Helper()
	g.must(g.stream.CopyDtoH(g.host, 0, b, offset, n))
	g.must(g.stream.Synchronize())
	return bytes.Clone(g.host.Data()[:n])
}

func expected(seed, origin, n uint64) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = kernels.Pattern(seed, origin+uint64(i))
	}
	return p
}

var correct = [2]uint64{0, math.MaxUint64}

func TestRealGPUFillAndVerifyOddRanges(t *testing.T) {
	g := openGPU(t)
	const guard, seed = 0xa5, 0xb0a7
	for offset := uint64(64); offset < 64+17; offset++ {
		for i, n := range []uint64{1, 2, 7, 15, 16, 17, 31, 100, 4097, 1 << 16} {
			origin := []uint64{0, 1, 7, 8, 13, 1<<40 + 3}[i%6]
			g.must(g.stream.Memset(g.sink, 0, 1<<18, guard))
			g.launch(kernels.Fill, uint64(g.sink.Ptr())+offset, n, seed, origin)
			got := g.read(g.sink, 0, offset+n+64)
			want := slices.Concat(bytes.Repeat([]byte{guard}, int(offset)), expected(seed, origin, n), bytes.Repeat([]byte{guard}, 64))
			if !bytes.Equal(got, want) {
				t.Errorf("fill of %d bytes at %d, origin %d: wrong bytes", n, offset, origin)
			}
			if r := g.verify(g.sink, offset, n, seed, origin); r != correct {
				t.Errorf("verify of %d bytes at %d, origin %d finds %v", n, offset, origin, r)
			}
			last, middle := n-1, n/2
			for _, at := range []uint64{last, middle} {
				g.must(g.stream.Memset(g.sink, offset+at, 1, ^kernels.Pattern(seed, origin+at)))
			}
			wrong := [2]uint64{2, origin + middle}
			if middle == last {
				wrong[0] = 1
			}
			if r := g.verify(g.sink, offset, n, seed, origin); r != wrong {
				t.Errorf("verify of %d bytes at %d, origin %d finds %v, want %v", n, offset, origin, r, wrong)
			}
		}
	}
}

func TestRealGPUCopyOddRanges(t *testing.T) {
	g := openGPU(t)
	const seed = 5
	g.launch(kernels.Fill, uint64(g.source.Ptr()), 1<<20, seed, 0)
	for to := range uint64(17) {
		for _, from := range []uint64{0, 1, 2, 4, 8, 11, 16} {
			for _, n := range []uint64{1, 15, 33, 4099, 1 << 17} {
				g.must(g.stream.Memset(g.sink, 0, 1<<18, 0xa5))
				g.launch(kernels.Copy, uint64(g.sink.Ptr())+64+to, uint64(g.source.Ptr())+from, n)
				got := g.read(g.sink, 0, 64+to+n+64)
				edge := bytes.Repeat([]byte{0xa5}, 64)
				if !bytes.Equal(got[64+to:64+to+n], expected(seed, from, n)) || !bytes.HasPrefix(got, edge) || !bytes.HasSuffix(got, edge) {
					t.Errorf("copy of %d bytes to %d from %d: wrong bytes", n, 64+to, from)
				}
			}
		}
	}
}

func TestRealGPUVerifyFindsOneByteInAll(t *testing.T) {
	g := openGPU(t)
	size := g.sink.Bytes()
	g.launch(kernels.Fill, uint64(g.sink.Ptr()), size, 1, 0)
	if r := g.verify(g.sink, 0, size, 1, 0); r != correct {
		t.Errorf("verify finds %v in what fill wrote", r)
	}
	at := size/3 | 1
	g.must(g.stream.Memset(g.sink, at, 1, ^kernels.Pattern(1, at)))
	if r := g.verify(g.sink, 0, size, 1, 0); r != [2]uint64{1, at} {
		t.Errorf("verify finds %v, want one byte at %d", r, at)
	}
	// With another seed nearly every byte is wrong: all threads report.
	if r := g.verify(g.sink, 0, size, 2, 0); r[0] < size/256*254 || r[0] > size || r[1] > 16 {
		t.Errorf("verify of another pattern finds %v in %d bytes", r, size)
	}
}

func TestRealGPUGate(t *testing.T) {
	g := openGPU(t)
	flag := (*uint32)(unsafe.Pointer(&g.host.Data()[0]))
	atomic.StoreUint32(flag, 0)
	start := time.Now()
	g.launch(kernels.Gate, uint64(g.host.DevicePtr()), uint64(50*time.Millisecond))
	g.must(g.stream.Synchronize())
	if took := time.Since(start); took < 40*time.Millisecond || took > time.Second {
		t.Errorf("a closed gate of 50 ms opened after %v", took)
	}
	g.launch(kernels.Gate, uint64(g.host.DevicePtr()), uint64(10*time.Second))
	time.Sleep(20 * time.Millisecond)
	if done, err := g.stream.Query(); done || err != nil {
		t.Errorf("a closed gate does not hold the stream: %t, %v", done, err)
	}
	start = time.Now()
	atomic.StoreUint32(flag, 1)
	g.must(g.stream.Synchronize())
	if took := time.Since(start); took > time.Second {
		t.Errorf("an opened gate held for %v more", took)
	}
}

func TestRealGPULoad(t *testing.T) {
	g := openGPU(t)
	g.must(g.stream.Memset(g.result, 0, 16, 0))
	start := time.Now()
	g.launch(kernels.Load, uint64(g.result.Ptr()), uint64(100*time.Millisecond))
	g.must(g.stream.Synchronize())
	took, rounds := time.Since(start), binary.LittleEndian.Uint64(g.read(g.result, 0, 8))
	if took < 90*time.Millisecond || took > time.Second || rounds == 0 {
		t.Errorf("a load of 100 ms took %v and counted %d rounds", took, rounds)
	}
}

// bandwidth is the median of five samples of ten times op, which moves so many
// bytes, in GB/s.
func (g *gpu) bandwidth(moved uint64, op func()) float64 {
	g.Helper()
	const samples, repeat = 5, 10
	start, end := value[*cuda.Event](g.T)(g.context.NewEvent(true)), value[*cuda.Event](g.T)(g.context.NewEvent(true))
	flag := (*uint32)(unsafe.Pointer(&g.host.Data()[0]))
	var figures []float64
	for range samples {
		op()
		g.must(g.stream.Synchronize())
		atomic.StoreUint32(flag, 0)
		g.launch(kernels.Gate, uint64(g.host.DevicePtr()), uint64(time.Second))
		g.must(g.stream.Record(start))
		for range repeat {
			op()
		}
		g.must(g.stream.Record(end))
		atomic.StoreUint32(flag, 1)
		g.must(g.stream.Synchronize())
		took := value[time.Duration](g.T)(end.Since(start))
		figures = append(figures, float64(moved)*repeat/took.Seconds()/1e9)
	}
	slices.Sort(figures)
	return figures[samples/2]
}

func TestRealGPUBandwidth(t *testing.T) {
	g := openGPU(t)
	size, half := g.sink.Bytes(), g.host.Size()/2
	to, from := uint64(g.sink.Ptr()), uint64(g.source.Ptr())
	g.launch(kernels.Fill, to, size, 1, 0)
	for _, grid := range []uint32{264, 528, 1024, 2048, 4096} {
		for _, k := range []struct {
			name  string
			moved uint64
			call  []uint64
		}{
			{kernels.Fill, size, []uint64{to, size, 1, 0}},
			{kernels.Verify, size, []uint64{to, size, 1, 0, uint64(g.result.Ptr())}},
			{kernels.Copy, 2 * size, []uint64{to, from, size}},
		} {
			figure := g.bandwidth(k.moved, func() { g.must(g.stream.Launch(g.kernel[k.name], grid, 256, k.call...)) })
			t.Logf("%-6s %4d x 256 threads %8.1f GB/s", k.name, grid, figure)
			g.launch(kernels.Fill, to, size, 1, 0) // what verify reads after copy
		}
	}
	unaligned := g.bandwidth(size, func() { g.launch(kernels.Fill, to+3, size-8, 1, 1) })
	t.Logf("fill at an odd offset and origin %8.1f GB/s", unaligned)
	// The flag of the gate lies in the first half of the host's buffer.
	for _, c := range []struct {
		name  string
		moved uint64
		op    func() error
	}{
		{"device to device (2S)", 2 * size, func() error { return g.stream.CopyDtoD(g.sink, 0, g.source, 0, size) }},
		{"peer to itself (2S)", 2 * size, func() error { return g.stream.CopyPeer(g.sink, 0, g.source, 0, size) }},
		{"host to device", half, func() error { return g.stream.CopyHtoD(g.sink, 0, g.host, half, half) }},
		{"device to host", half, func() error { return g.stream.CopyDtoH(g.host, half, g.source, 0, half) }},
	} {
		t.Logf("copy engine, %-22s %8.1f GB/s", c.name, g.bandwidth(c.moved, func() { g.must(c.op()) }))
	}
}

func TestRealGPUErrors(t *testing.T) {
	g := openGPU(t)
	for _, c := range []struct {
		name string
		err  error
		want []cuda.Result
	}{
		{"enable itself", g.context.EnablePeer(g.context), []cuda.Result{cuda.ErrPeerAccessUnsupported, cuda.ErrInvalidDevice}},
		{"enable with flags", g.context.EnablePeerFlags(g.context, 1), []cuda.Result{cuda.ErrInvalidValue}},
		{"disable what is not enabled", g.context.DisablePeer(g.context), []cuda.Result{cuda.ErrPeerNotEnabled}},
	} {
		t.Logf("%s: %v", c.name, c.err)
		var e *cuda.Error
		if !errors.As(c.err, &e) || !slices.Contains(c.want, e.Code) || e.Text == "" {
			t.Errorf("%s: %v, want one of %d", c.name, c.err, c.want)
		}
	}
	dev := g.context.Device()
	if can, err := dev.CanAccessPeer(dev); can || err != nil {
		t.Errorf("the GPU is its own peer: %t, %v", can, err)
	}
	uuid, bus := value[string](t)(dev.UUID()), value[string](t)(dev.BusID())
	if !strings.HasPrefix(uuid, "GPU-") || bus != cuda.NormalBusID(bus) || len(bus) < len("0000:00:00.0") {
		t.Errorf("UUID %q, bus id %q", uuid, bus)
	}
	t.Logf("%s, driver %d", value[string](t)(dev.Name()), value[int](t)(g.driver.Version()))
}

// A fault poisons its process, so it has one of its own.
func TestRealGPUFault(t *testing.T) {
	if os.Getenv(realGPU) == "fault" {
		fault(t)
		return
	}
	if os.Getenv(realGPU) == "" {
		t.Skip("set " + realGPU + "=1 on a machine with a GPU")
	}
	child := exec.Command(os.Args[0], "-test.run=^TestRealGPUFault$", "-test.v")
	child.Env = append(os.Environ(), realGPU+"=fault")
	if out, err := child.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func fault(t *testing.T) {
	api, err := cuda.OpenCUDA()
	if err != nil {
		t.Fatal(err)
	}
	driver := cuda.NewDriver(api)
	if err := driver.Init(); err != nil {
		t.Fatal(err)
	}
	context := value[*cuda.Context](t)(value[*cuda.Device](t)(driver.Device(0)).Retain())
	stream := value[*cuda.Stream](t)(context.NewStream())
	fill := value[*cuda.Function](t)(value[*cuda.Module](t)(context.LoadModule(kernels.PTX())).Function(kernels.Fill))
	if err := stream.Launch(fill, 1, 32, 0xdead0000, 4096, 0, 0); err != nil {
		t.Fatal(err)
	}
	wait := stream.Synchronize()
	_, after := context.Alloc(1 << 20)
	for _, err := range []error{wait, after} {
		t.Log(err)
		if code, _ := cuda.Code(err); code != cuda.ErrIllegalAddress || !code.Sticky() {
			t.Errorf("after an illegal address the driver answers %v", err)
		}
	}
}
