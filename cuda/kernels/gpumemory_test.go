package kernels_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/kernels"
)

// roundTrip fills a buffer by kernel and by copy engine, and checks every byte
// by kernel and some through the host.
func (g *gpu) roundTrip(what string, b *cuda.Buffer) {
	g.Helper()
	n := b.Bytes()
	g.launch(kernels.Fill, uint64(b.Ptr()), n, 21, 0)
	if r := g.verify(b, 0, n, 21, 0); r != correct {
		g.Errorf("%s: verify finds %v in what fill wrote", what, r)
	}
	edge := min(n, 1<<16)
	if !bytes.Equal(g.read(b, n-edge, edge), expected(21, n-edge, edge)) {
		g.Errorf("%s: the host reads other bytes", what)
	}
	g.launch(kernels.Fill, uint64(g.source.Ptr()), n, 22, 0)
	g.must(g.stream.CopyPeer(b, 0, g.source, 0, n))
	if r := g.verify(b, 0, n, 22, 0); r != correct {
		g.Errorf("%s: verify finds %v in what the copy engine wrote", what, r)
	}
	g.launch(kernels.Fill, uint64(b.Ptr()), n, 23, 0)
	g.must(g.stream.CopyPeer(g.sink, 0, b, 0, n))
	if r := g.verify(g.sink, 0, n, 23, 0); r != correct {
		g.Errorf("%s: verify finds %v in what the copy engine read", what, r)
	}
}

// Memory of every kind holds what is written, and is given back.
func TestRealGPUAllocations(t *testing.T) {
	g := openGPU(t)
	// What the driver allocates for itself, it has afterwards.
	warm := value[*cuda.Buffer](t)(g.context.Alloc(64 << 20))
	g.roundTrip("the first", warm)
	g.must(warm.Close())
	for _, c := range []struct {
		name  string
		alloc func(n uint64) (*cuda.Buffer, error)
	}{
		{"cuMemAlloc", g.context.Alloc},
		{"virtual memory", func(n uint64) (*cuda.Buffer, error) { return g.context.AllocVMM(n, g.context) }},
		{"pool", func(n uint64) (*cuda.Buffer, error) { return g.context.AllocPool(n, g.context) }},
	} {
		before, _, err := g.context.MemInfo()
		g.must(err)
		const n = 64<<20 + 4097
		start := time.Now()
		b, err := c.alloc(n)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		took := time.Since(start)
		held, _, err := g.context.MemInfo()
		g.must(err)
		g.roundTrip(c.name, b)
		g.must(b.Close())
		after, _, err := g.context.MemInfo()
		g.must(err)
		t.Logf("%s: %v, holds %d MiB", c.name, took, (before-held)>>20)
		if before-held < n || after != before {
			t.Errorf("%s: %d bytes were free before, %d with the buffer, %d after", c.name, before, held, after)
		}
	}
}

const ipcHandle = "PEERPROOF_TEST_IPC"

// The other process opens the buffer, sees this one's pattern and writes
// another, which this one, the owner, sees.
func TestRealGPUIPC(t *testing.T) {
	g := openGPU(t)
	const n = 8<<20 + 16
	if text := os.Getenv(ipcHandle); text != "" {
		var handle cuda.IPCHandle
		g.must(handle.UnmarshalText([]byte(text)))
		start := time.Now()
		b := value[*cuda.Buffer](t)(g.context.OpenIPC(handle, n))
		t.Logf("open: %v", time.Since(start))
		if r := g.verify(b, 0, n, 31, 0); r != correct {
			t.Errorf("verify finds %v in what the owner wrote", r)
		}
		g.launch(kernels.Fill, uint64(b.Ptr()), n, 32, 0)
		g.must(g.stream.Synchronize())
		g.must(b.Close())
		return
	}
	// Not at the start of what the driver allocates from.
	_ = value[*cuda.Buffer](t)(g.context.Alloc(4096))
	b := value[*cuda.Buffer](t)(g.context.Alloc(n))
	g.launch(kernels.Fill, uint64(b.Ptr()), n, 31, 0)
	g.must(g.stream.Synchronize())
	handle := value[cuda.IPCHandle](t)(b.IPCHandle())
	text := value[[]byte](t)(handle.MarshalText())
	child := exec.Command(os.Args[0], "-test.run=^TestRealGPUIPC$", "-test.v")
	child.Env = append(os.Environ(), ipcHandle+"="+string(text))
	out, err := child.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !bytes.Contains(out, []byte("--- PASS")) {
		t.Fatalf("the other process: %v", err)
	}
	if r := g.verify(b, 0, n, 32, 0); r != correct {
		t.Errorf("verify finds %v in what the other process wrote", r)
	}
	if _, err := g.context.OpenIPC(handle, n); err == nil {
		t.Error("a process opened a handle of its own")
	} else {
		t.Logf("opening one's own handle: %v", err)
	}
	g.must(b.Close())
}

func TestRealGPUGraph(t *testing.T) {
	g := openGPU(t)
	n := g.sink.Bytes()
	g.launch(kernels.Fill, uint64(g.source.Ptr()), n, 41, 0)
	g.must(g.stream.Memset(g.sink, 0, n, 0))
	graph := value[*cuda.Graph](t)(g.stream.Capture(func() error {
		return errors.Join(
			g.stream.CopyDtoD(g.sink, 0, g.source, 0, n/2),
			g.stream.CopyDtoD(g.sink, n/2, g.source, n/2, n/2),
			g.stream.Launch(g.kernel[kernels.Fill], 64, 256, uint64(g.sink.Ptr()), 4096, 42, 0))
	}))
	if got := g.read(g.sink, 0, 1<<16); !bytes.Equal(got, make([]byte, 1<<16)) {
		t.Error("what is captured has already run")
	}
	for range 3 {
		g.must(g.stream.Memset(g.sink, 0, n, 0))
		g.must(graph.Launch(g.stream))
		if r := g.verify(g.sink, 4096, n-4096, 41, 4096); r != correct {
			t.Errorf("verify finds %v in what the graph copied", r)
		}
		if r := g.verify(g.sink, 0, 4096, 42, 0); r != correct {
			t.Errorf("verify finds %v in what the graph's kernel wrote", r)
		}
	}
	t.Logf("graph of two copies: %.1f GB/s (2S)", float64(2*n)/g.seconds(func() { g.must(graph.Launch(g.stream)) })/1e9)
	g.must(graph.Close())
	if _, err := g.stream.Capture(func() error { return g.stream.CopyPeer(g.sink, 0, g.source, 0, n) }); err == nil {
		t.Error("a copy that names its contexts was captured, which the driver has refused so far (900)")
	}
	if _, err := g.stream.Capture(func() error { return g.stream.Synchronize() }); err == nil {
		t.Error("a wait was captured")
	} else {
		t.Logf("a wait within a capture: %v", err)
	}
	// The stream is of use again.
	if r := g.verify(g.sink, 4096, n-4096, 41, 4096); r != correct {
		t.Errorf("after a failed capture verify finds %v", r)
	}
}

func TestRealGPUCopy2D(t *testing.T) {
	g := openGPU(t)
	const guard, room = 0xa5, 1 << 18
	g.launch(kernels.Fill, uint64(g.source.Ptr()), room, 51, 0)
	for _, c := range []struct{ to, toPitch, from, fromPitch, width, height uint64 }{
		{0, 512, 0, 512, 512, 64},
		{64, 512, 128, 1024, 256, 100},
		{3, 101, 7, 211, 101, 333},
		{1, 4099, 2, 1031, 17, 63},
		{5, 1, 9, 1, 1, 5},
		{0, 65536, 0, 65536, 65535, 4},
	} {
		g.must(g.stream.Memset(g.sink, 0, room, guard))
		g.must(g.stream.Copy2D(cuda.Rows{Buffer: g.sink, Offset: c.to, Pitch: c.toPitch},
			cuda.Rows{Buffer: g.source, Offset: c.from, Pitch: c.fromPitch}, c.width, c.height))
		want := bytes.Repeat([]byte{guard}, room)
		for row := range c.height {
			copy(want[c.to+row*c.toPitch:], expected(51, c.from+row*c.fromPitch, c.width))
		}
		if got := g.read(g.sink, 0, room); !bytes.Equal(got, want) {
			t.Errorf("copy of rows %+v: wrong bytes", c)
		}
	}
	const side = 8 << 10
	rate := side * side / g.seconds(func() {
		g.must(g.stream.Copy2D(cuda.Rows{Buffer: g.sink, Pitch: side}, cuda.Rows{Buffer: g.source, Pitch: side}, side, side))
	}) / 1e9
	t.Logf("copy of rows: %.1f GB/s (S)", rate)
}

func TestRealGPUAdd(t *testing.T) {
	g := openGPU(t)
	counter := uint64(g.result.Ptr())
	const times, threads = 50, 1024 * 256
	g.must(g.stream.Memset(g.result, 0, 64, 0))
	g.must(g.stream.Synchronize())
	took := g.seconds(func() {
		g.launchOn(g.other, kernels.Add, counter, times)
		g.launch(kernels.Add, counter, times)
	})
	g.must(g.other.Synchronize())
	if got := binary.LittleEndian.Uint64(g.read(g.result, 0, 8)); got != 2*times*threads {
		t.Errorf("two kernels counted to %d, want %d", got, 2*times*threads)
	}
	t.Logf("device memory: %.3g atomic additions a second", times*threads/took)
	pinned := g.host.Data()[4096:4104]
	binary.LittleEndian.PutUint64(pinned, 0)
	const few = 64 * 32
	g.must(g.stream.Launch(g.kernel[kernels.Add], 64, 32, uint64(g.host.DevicePtr())+4096, times))
	g.must(g.other.Launch(g.kernel[kernels.Add], 64, 32, uint64(g.host.DevicePtr())+4096, times))
	g.must(errors.Join(g.stream.Synchronize(), g.other.Synchronize()))
	if got := binary.LittleEndian.Uint64(pinned); got != 2*times*few {
		t.Errorf("in pinned memory two kernels counted to %d, want %d", got, 2*times*few)
	}
}

func TestRealGPUNCCL(t *testing.T) {
	g := openGPU(t)
	n, err := cuda.Real().NCCL()
	if errors.Is(err, cuda.ErrNoNCCL) {
		t.Skip(err)
	}
	g.must(err)
	t.Logf("NCCL %d", value[int](t)(n.Version()))
	start := time.Now()
	comms := value[[]*cuda.Communicator](t)(n.Communicators(g.context))
	t.Logf("clique of one: %v", time.Since(start))
	c := comms[0]
	size := g.sink.Bytes()
	collectives := map[string]func() error{
		"all-reduce": func() error {
			return c.AllReduce(g.source, g.sink, size/8, cuda.NCCLUint64, cuda.NCCLSum, g.stream)
		},
		"all-gather": func() error { return c.AllGather(g.source, g.sink, size, cuda.NCCLUint8, g.stream) },
		"reduce-scatter": func() error {
			return c.ReduceScatter(g.source, g.sink, size/8, cuda.NCCLUint64, cuda.NCCLSum, g.stream)
		},
		"send and receive": func() error {
			return n.Group(func() error {
				return errors.Join(c.Send(g.source, size, cuda.NCCLUint8, 0, g.stream), c.Recv(g.sink, size, cuda.NCCLUint8, 0, g.stream))
			})
		},
	}
	for _, name := range slices.Sorted(maps.Keys(collectives)) {
		g.launch(kernels.Fill, uint64(g.source.Ptr()), size, 61, 0)
		g.must(g.stream.Memset(g.sink, 0, size, 0))
		g.must(collectives[name]())
		if r := g.verify(g.sink, 0, size, 61, 0); r != correct {
			t.Errorf("%s: verify finds %v", name, r)
		}
		t.Logf("%s: %.1f GB/s", name, float64(size)/g.seconds(func() { g.must(collectives[name]()) })/1e9)
	}
	if err := c.Send(g.source, size, cuda.NCCLUint8, 5, g.stream); err == nil {
		t.Error("a send to a rank that does not exist has no error")
	} else {
		t.Logf("a send to nobody: %v", err)
	}
	g.must(c.Close())
}
