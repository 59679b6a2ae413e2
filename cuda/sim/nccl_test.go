package sim

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/peerproof/peerproof/cuda"
)

const ncclOn = "environment: {nccl: true}\n"

const nccl4 = "version: 1\nnoise: 0\ngpus: {count: 4, model: NVIDIA H200, memory: 16MiB}\nnvlink: {switch: {}}\n" + ncclOn

const nccl4PCIe = "version: 1\nnoise: 0\ngpus: {count: 4, model: NVIDIA L40S, memory: 16MiB}\n" + ncclOn

// comms makes a clique of GPUs.
func (l *lab) comms(gpus ...int) (*cuda.NCCL, []*cuda.Communicator) {
	l.Helper()
	n := get1(l.bundle.NCCL())(l)
	var ctx []*cuda.Context
	for _, g := range gpus {
		ctx = append(ctx, l.ctx[g])
	}
	return n, get1(n.Communicators(ctx...))(l)
}

// each asks every rank in one group, and waits.
func (l *lab) each(n *cuda.NCCL, comms []*cuda.Communicator, ask func(c *cuda.Communicator) error) {
	l.Helper()
	l.must(n.Group(func() error {
		for _, c := range comms {
			if err := ask(c); err != nil {
				return err
			}
		}
		return nil
	}))
	for i := range comms {
		l.sync(i)
	}
}

// words32 puts n int32 or float32 bit patterns.
func (l *lab) words32(gpu int, b *cuda.Buffer, n int, value func(i int) uint32) {
	words := make([]uint64, n/2)
	for i := range words {
		words[i] = uint64(value(2*i)) | uint64(value(2*i+1))<<32
	}
	l.put(gpu, b, 0, words...)
}

func (l *lab) get32(gpu int, b *cuda.Buffer, n int) []uint32 {
	var all []uint32
	for _, w := range l.get(gpu, b, 0, n/2) {
		all = append(all, uint32(w), uint32(w>>32))
	}
	return all
}

func TestNoNCCL(t *testing.T) {
	for _, text := range []string{hgx2, node(gpus(2, "NVIDIA L40S"), "driver: none", ncclOn)} {
		if _, err := parse(t, text).Open(History{}).NCCL(); !errors.Is(err, cuda.ErrNoNCCL) {
			t.Errorf("%v", err)
		}
	}
}

func TestCollectives(t *testing.T) {
	const count = 1000
	for _, n := range []int{1, 2, 4} {
		l := newLab(t, nccl4)
		lib, comms := l.comms([]int{0, 1, 2, 3}[:n]...)
		if v, err := lib.Version(); v != 22803 || err != nil {
			t.Errorf("version %d, %v", v, err)
		}
		send, recv := make([]*cuda.Buffer, n), make([]*cuda.Buffer, n)
		value := func(rank, i int) uint32 { return uint32(i%100 + rank) }
		for r := range n {
			send[r], recv[r] = l.alloc(r, 4*count*uint64(n)), l.alloc(r, 4*count*uint64(n))
			l.words32(r, send[r], count*n, func(i int) uint32 { return value(r, i) })
		}
		expect := func(what string, rank int, got uint32, want uint32) {
			t.Helper()
			if got != want {
				t.Fatalf("%s of %d: rank %d has %d, want %d", what, n, rank, got, want)
			}
		}
		total := func(i int) (sum uint32) {
			for r := range n {
				sum += value(r, i)
			}
			return sum
		}
		l.each(lib, comms, func(c *cuda.Communicator) error {
			return c.AllReduce(send[c.Rank], recv[c.Rank], count, cuda.NCCLInt32, cuda.NCCLSum, l.streams[c.Rank])
		})
		for r := range n {
			for i, got := range l.get32(r, recv[r], count) {
				expect("all-reduce", r, got, total(i))
			}
		}
		l.each(lib, comms, func(c *cuda.Communicator) error {
			return c.AllGather(send[c.Rank], recv[c.Rank], count, cuda.NCCLFloat32, l.streams[c.Rank])
		})
		for r := range n {
			for i, got := range l.get32(r, recv[r], count*n) {
				expect("all-gather", r, got, value(i/count, i%count))
			}
		}
		l.each(lib, comms, func(c *cuda.Communicator) error {
			return c.ReduceScatter(send[c.Rank], recv[c.Rank], count, cuda.NCCLInt32, cuda.NCCLSum, l.streams[c.Rank])
		})
		for r := range n {
			for i, got := range l.get32(r, recv[r], count) {
				expect("reduce-scatter", r, got, total(r*count+i))
			}
		}
		l.each(lib, comms, func(c *cuda.Communicator) error { // around a ring
			if err := c.Send(send[c.Rank], count, cuda.NCCLInt32, (c.Rank+1)%n, l.streams[c.Rank]); err != nil {
				return err
			}
			return c.Recv(recv[c.Rank], count, cuda.NCCLInt32, (c.Rank+n-1)%n, l.streams[c.Rank])
		})
		for r := range n {
			for i, got := range l.get32(r, recv[r], count) {
				expect("send-recv", r, got, value((r+n-1)%n, i))
			}
		}
		l.each(lib, comms, func(c *cuda.Communicator) error { // in place
			return c.AllReduce(send[c.Rank], send[c.Rank], count, cuda.NCCLInt32, cuda.NCCLSum, l.streams[c.Rank])
		})
		for r := range n {
			expect("in place", r, l.get32(r, send[r], count)[count-1], total(count-1))
		}
		for _, c := range comms {
			l.must(c.Close())
		}
	}
}

func TestSumsOfEachType(t *testing.T) {
	l := newLab(t, nccl4)
	lib, comms := l.comms(0, 1)
	bits := func(f float32) uint64 { return uint64(math.Float32bits(f)) }
	for _, c := range []struct {
		kind    cuda.NCCLType
		a, b, c uint64
	}{
		{cuda.NCCLUint8, 0xff0102, 0x020304, 0x010406},
		{cuda.NCCLInt32, 5<<32 | 0xffffffff, 7<<32 | 3, 12<<32 | 2},
		{cuda.NCCLUint64, 0xffffffff, 1, 1 << 32},
		{cuda.NCCLFloat32, bits(1.5), bits(2.25), bits(3.75)},
	} {
		a, b := l.alloc(0, 8), l.alloc(1, 8)
		l.put(0, a, 0, c.a)
		l.put(1, b, 0, c.b)
		l.each(lib, comms, func(m *cuda.Communicator) error {
			buffer := []*cuda.Buffer{a, b}[m.Rank]
			return m.AllReduce(buffer, buffer, 8/c.kind.Size(), c.kind, cuda.NCCLSum, l.streams[m.Rank])
		})
		if got := l.get(1, b, 0, 1)[0]; got != c.c {
			t.Errorf("type %d: %#x, want %#x", c.kind, got, c.c)
		}
	}
}

// allReduce fills and all-reduces 1 MiB of every GPU, and returns the bus
// bandwidth in GB/s and how many bytes each rank has wrong.
func (l *lab) allReduce(lib *cuda.NCCL, comms []*cuda.Communicator) (bus float64, wrong []uint64) {
	l.Helper()
	const bytes = 1 << 20
	n := len(comms)
	buffers := make([]*cuda.Buffer, n)
	for r := range n {
		buffers[r] = l.alloc(r, bytes)
		if r == 0 {
			l.fill(r, buffers[r], 1) // the others add nothing
			continue
		}
		l.must(l.streams[r].Memset(buffers[r], 0, bytes, 0))
		l.sync(r)
	}
	took := l.seconds(l.streams[0], func() {
		l.each(lib, comms, func(c *cuda.Communicator) error {
			return c.AllReduce(buffers[c.Rank], buffers[c.Rank], bytes/8, cuda.NCCLUint64, cuda.NCCLSum, l.streams[c.Rank])
		})
	})
	for r := range n {
		w, _ := l.wrong(r, buffers[r], 1)
		wrong = append(wrong, w)
		l.must(buffers[r].Close())
	}
	return bytes * 2 * float64(n-1) / float64(n) / took / 1e9, wrong
}

func TestBusBandwidth(t *testing.T) {
	const nv, pcie = 450 * 0.88, 31.5 * 0.86
	for _, c := range []struct {
		name, text string
		disabled   bool
		want       float64
	}{
		{"NVLink", nccl4, false, nv},
		{"NVLink, P2P disabled", nccl4, true, 63 * 0.4},
		{"PCIe", nccl4PCIe, false, pcie},
		{"PCIe, P2P disabled", nccl4PCIe, true, 31.5 * 0.4},
		{"two sockets", nccl4PCIe + "numa: [0, 1, 0, 1]\n", false, 31.5 * 0.6},
		{"a slow pair", nccl4 + "faults: [{kind: slow, pair: [1, 3], factor: 0.5}]\n", false, nv / 2},
		{"a pair slow for copy engines", nccl4 + "faults: [{kind: slow, pair: [1, 3], engine: ce, factor: 0.5}]\n", false, nv},
		{"a pair slow beside others", nccl4 + "faults: [{kind: slow, pair: [1, 3], factor: 0.5, when: concurrent}]\n", false, nv / 2},
		{"a pair slow, unused", nccl4 + "faults: [{kind: slow, pair: [1, 3], factor: 0.5}]\n", true, 63 * 0.4},
		{"no access of one pair", nccl4 + "faults: [{kind: no-access, pair: [0, 1], both: true}]\n", false, nv}, // a ring avoids it
		{"bridged pairs", "version: 1\nnoise: 0\ngpus: {count: 4, model: NVIDIA H100 NVL, memory: 16MiB}\nnvlink: {pairs: [{gpus: [0, 2], links: 12}, {gpus: [1, 3], links: 12}]}\n" + ncclOn, false, 63 * 0.86},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.disabled {
				t.Setenv("NCCL_P2P_DISABLE", "1")
			} else {
				t.Setenv("NCCL_P2P_DISABLE", "")
			}
			l := newLab(t, c.text)
			lib, comms := l.comms(0, 1, 2, 3)
			bus, wrong := l.allReduce(lib, comms)
			if !within(bus, c.want*ncclShare, 0.001) {
				t.Errorf("bus bandwidth %.1f GB/s, want %.1f", bus, c.want*ncclShare)
			}
			for r, w := range wrong {
				if w != 0 {
					t.Errorf("rank %d has %d wrong bytes", r, w)
				}
			}
		})
	}
}

func TestCollectiveFaults(t *testing.T) {
	const all = 1 << 20
	for _, c := range []struct {
		fault string
		wrong [4]uint64
	}{
		{"{kind: corrupt, pair: [0, 2], engine: sm, offset: 77, bit: 1}", [4]uint64{0, 0, 1, 0}},
		{"{kind: corrupt, pair: [0, 2], engine: ce, offset: 77, bit: 1}", [4]uint64{}},
		{"{kind: corrupt, pair: all, engine: sm-write, offset: 77, bit: 1}", [4]uint64{1, 1, 1, 1}},
		{"{kind: corrupt, gpu: 3, engine: sm-write, offset: 1000000, bit: 1}", [4]uint64{0, 0, 0, 1}},
		{"{kind: stale, pair: [3, 1], engine: sm}", [4]uint64{0, all, 0, 0}},
		{"{kind: private-mirror, pair: [3, 1]}", [4]uint64{0, all, 0, 0}},
	} {
		l := newLab(t, nccl4+"faults: ["+c.fault+"]\n")
		lib, comms := l.comms(0, 1, 2, 3)
		_, wrong := l.allReduce(lib, comms)
		for r, w := range wrong {
			if !near(w, c.wrong[r]) {
				t.Errorf("%s: rank %d has %d wrong bytes, want %d", c.fault, r, w, c.wrong[r])
			}
		}
	}
	l := newLab(t, nccl4+"faults: [{kind: hang, pair: [2, 3], engine: sm}]\n")
	lib, comms := l.comms(0, 1, 2, 3)
	returned := make(chan error, 1)
	b := []*cuda.Buffer{l.alloc(0, 64), l.alloc(1, 64), l.alloc(2, 64), l.alloc(3, 64)}
	l.must(lib.Group(func() error {
		for i, c := range comms {
			l.must(c.AllReduce(b[i], b[i], 8, cuda.NCCLUint64, cuda.NCCLSum, l.streams[i]))
		}
		return nil
	}))
	go func() { returned <- l.streams[0].Synchronize() }()
	waitBriefly(t, returned)
}

// TestRanksWaitForEachOther shows that a rank whose partners do not come waits,
// and that they may come from other threads.
func TestRanksWaitForEachOther(t *testing.T) {
	l := newLab(t, nccl4)
	_, comms := l.comms(0, 1)
	a, b := l.alloc(0, 64), l.alloc(1, 64)
	l.put(0, a, 0, 1)
	l.put(1, b, 0, 2)
	ask := func(c *cuda.Communicator, m *cuda.Buffer) error {
		return c.AllReduce(m, m, 8, cuda.NCCLUint64, cuda.NCCLSum, l.streams[c.Rank])
	}
	l.must(ask(comms[0], a))
	if done, err := l.streams[0].Query(); done || err != nil {
		t.Errorf("a rank without its partner: done %v, %v", done, err)
	}
	go func() {
		time.Sleep(5 * time.Millisecond)
		if err := ask(comms[1], b); err != nil {
			t.Error(err)
		}
	}()
	l.sync(0)
	if got := l.get(0, a, 0, 1)[0]; got != 3 {
		t.Errorf("sum %d, want 3", got)
	}
	l.must(comms[0].Send(a, 8, cuda.NCCLUint64, 1, l.streams[0]))
	returned := make(chan error, 1)
	go func() { returned <- l.streams[0].Synchronize() }()
	waitBriefly(t, returned)
	l.must(comms[1].Recv(b, 8, cuda.NCCLUint64, 0, l.streams[1]))
	l.must(<-returned)
}

func TestNCCLErrors(t *testing.T) {
	l := newLab(t, nccl4)
	lib, comms := l.comms(0, 1)
	result := func(err error) cuda.NCCLResult {
		var e *cuda.NCCLError
		if !errors.As(err, &e) {
			return 0
		}
		if e.Text == "" {
			t.Errorf("%v says nothing", err)
		}
		return e.Code
	}
	if _, err := lib.Communicators(l.ctx[0], l.ctx[0]); result(err) != ncclInvalidUsage {
		t.Errorf("two ranks on one GPU: %v", err)
	}
	b := l.alloc(0, 64)
	if err := comms[0].AllReduce(b, b, 8, cuda.NCCLUint64, 9, l.streams[0]); result(err) != ncclInvalidArgument {
		t.Errorf("no such operator: %v", err)
	}
	if err := comms[0].AllReduce(b, b, 8, cuda.NCCLUint64, 0, l.streams[1]); result(err) != ncclInvalidArgument {
		t.Errorf("another GPU's stream: %v", err)
	}
	if err := comms[0].Send(b, 8, cuda.NCCLUint64, 2, l.streams[0]); result(err) != ncclInvalidArgument {
		t.Errorf("no such rank: %v", err)
	}
	if got := lib.GroupEnd(); got != ncclInvalidUsage {
		t.Errorf("an end without a start: %v", got)
	}
	l.must(comms[1].Close())
	l.launch(0, "fill", 64, 64, 0, 0)
	if code(l.streams[0].Synchronize()) != cuda.ErrIllegalAddress {
		t.Error("no fault")
	}
	if got := lib.CommInitAll(new(uintptr), 1, nil); got != ncclUnhandledCUDA {
		t.Errorf("in a process that met a fault: %v", got)
	}
}

func TestRanksOfAFaultyProcess(t *testing.T) {
	l := newLab(t, nccl4)
	_, comms := l.comms(0, 1)
	a := l.alloc(0, 64)
	l.must(comms[0].AllReduce(a, a, 8, cuda.NCCLUint64, cuda.NCCLSum, l.streams[0]))
	l.launch(1, "fill", 64, 64, 0, 0)
	if got := code(l.streams[0].Synchronize()); got != cuda.ErrIllegalAddress {
		t.Errorf("a rank that waits in a process with a fault: %v", got)
	}
}
