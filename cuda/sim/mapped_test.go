package sim

import (
	"testing"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/kernels"
)

const vmm3 = `
version: 1
gpus: {count: 3, model: NVIDIA L40S, memory: 16MiB}
noise: 0
`

// grants are the two kinds of memory whose access is granted allocation by
// allocation, whatever peer access is enabled.
var grants = map[string]func(*cuda.Context, uint64, ...*cuda.Context) (*cuda.Buffer, error){
	"vmm":  (*cuda.Context).AllocVMM,
	"pool": (*cuda.Context).AllocPool,
}

func TestGrantedMemory(t *testing.T) {
	for name, alloc := range grants {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, vmm3)
			free, _, err := l.ctx[1].MemInfo()
			l.must(err)
			b := get1(alloc(l.ctx[1], 1<<20, l.ctx[0]))(t)
			l.fill(1, b, 1)
			if n, _ := l.wrong(0, b, 1); n != 0 {
				t.Errorf("the peer reads %d wrong bytes", n)
			}
			l.fill(0, b, 2)
			if n, _ := l.wrong(1, b, 2); n != 0 {
				t.Errorf("the owner reads %d wrong bytes", n)
			}
			src := l.alloc(0, 1<<20)
			l.fill(0, src, 3)
			took := l.seconds(l.streams[0], func() { l.must(l.streams[0].CopyDtoD(b, 0, src, 0, 1<<20)) })
			if n, _ := l.wrong(1, b, 3); n != 0 {
				t.Errorf("a copy leaves %d wrong bytes", n)
			}
			if rate := float64(1<<20) / took / 1e9; !within(rate, 31.5*0.86, 0.001) {
				t.Errorf("a copy reaches %.1f GB/s; it was staged", rate)
			}
			l.must(b.Close())
			if now, _, _ := l.ctx[1].MemInfo(); now != free {
				t.Errorf("%d bytes free after Close, %d before", now, free)
			}
		})
	}
}

func TestGrantedMemoryIsClosedToOthers(t *testing.T) {
	for name, alloc := range grants {
		for what, use := range map[string]func(l *lab, b *cuda.Buffer, src *cuda.Buffer) error{
			"load": func(l *lab, b, _ *cuda.Buffer) error {
				sum := l.alloc(2, 16)
				l.launch(2, kernels.Verify, uint64(b.Ptr()), 4096, 1, 0, uint64(sum.Ptr()))
				return l.streams[2].Synchronize()
			},
			"store": func(l *lab, b, _ *cuda.Buffer) error {
				l.launch(2, kernels.Fill, uint64(b.Ptr()), 4096, 1, 0)
				return l.streams[2].Synchronize()
			},
			"copy": func(l *lab, b, src *cuda.Buffer) error {
				l.must(l.streams[2].CopyDtoD(b, 0, src, 0, 4096))
				return l.streams[2].Synchronize()
			},
		} {
			l := newLab(t, vmm3)
			l.enableAll() // means nothing here
			b, src := get1(alloc(l.ctx[1], 4096, l.ctx[0]))(t), l.alloc(2, 4096)
			if got := code(use(l, b, src)); got != cuda.ErrIllegalAddress {
				t.Errorf("%s: %s of a GPU without access: %v, want 700", name, what, got)
			}
		}
	}
}

func TestMappedMemoryIsClosedToItsOwner(t *testing.T) {
	r := open(t, vmm3, History{})
	prop := &cuda.MemAllocationProp{Type: cuda.MemAllocationPinned, Location: cuda.MemLocation{Type: cuda.MemLocationDevice, ID: 1}}
	var at cuda.DevicePtr
	var handle uint64
	r.ok(r.api.MemAddressReserve(&at, granularity, 0, 0, 0))
	r.ok(r.api.MemCreate(&handle, granularity, prop, 0))
	r.ok(r.api.MemMap(at, granularity, 0, handle, 0))
	// The memory has no address of its own.
	if _, ok := object[*block](rigProcess(r), uintptr(handle)); !ok {
		t.Fatal("no block")
	}
	read := cuda.MemAccessDesc{Location: prop.Location, Flags: mayRead}
	r.ok(r.api.MemSetAccess(at, granularity, &read, 1))
	r.ok(r.launch(1, 0, kernels.Verify, uint64(at), 64, 1, 0, uint64(r.alloc(1, 16))))
	r.ok(r.api.CtxSynchronize())
	r.ok(r.launch(1, 0, kernels.Fill, uint64(at), 64, 1, 0)) // it may only be read
	r.want(r.api.CtxSynchronize(), cuda.ErrIllegalAddress)
}

// rigProcess is the process behind a rig.
func rigProcess(r *rig) *process { return r.bundle.NVML.(*library).p }

func TestVirtualMemoryErrors(t *testing.T) {
	r := open(t, vmm3, History{})
	prop := func(id int32) *cuda.MemAllocationProp {
		return &cuda.MemAllocationProp{Type: cuda.MemAllocationPinned, Location: cuda.MemLocation{Type: cuda.MemLocationDevice, ID: id}}
	}
	var size uintptr
	r.ok(r.api.MemGetAllocationGranularity(&size, prop(0), 0))
	if size != 2<<20 {
		t.Errorf("granularity %d", size)
	}
	r.want(r.api.MemGetAllocationGranularity(&size, prop(3), 0), cuda.ErrInvalidDevice)
	r.want(r.api.MemGetAllocationGranularity(&size, nil, 0), cuda.ErrInvalidValue)
	var at cuda.DevicePtr
	var handle, other uint64
	r.want(r.api.MemAddressReserve(&at, granularity+1, 0, 0, 0), cuda.ErrInvalidValue)
	r.want(r.api.MemCreate(&handle, 4096, prop(0), 0), cuda.ErrInvalidValue)
	r.want(r.api.MemCreate(&handle, 64<<20, prop(0), 0), cuda.ErrOutOfMemory)
	r.ok(r.api.MemAddressReserve(&at, 2*granularity, 0, 0, 0))
	r.ok(r.api.MemCreate(&handle, granularity, prop(0), 0))
	r.ok(r.api.MemCreate(&other, granularity, prop(0), 0))
	r.want(r.api.MemMap(at, 2*granularity, 0, handle, 0), cuda.ErrInvalidValue) // larger than the memory
	r.want(r.api.MemMap(at+4*granularity, granularity, 0, handle, 0), cuda.ErrInvalidValue)
	r.want(r.api.MemMap(at, granularity, 0, 99, 0), cuda.ErrInvalidValue)
	r.ok(r.api.MemMap(at, granularity, 0, handle, 0))
	r.want(r.api.MemMap(at, granularity, 0, other, 0), cuda.ErrInvalidValue) // something is there
	r.ok(r.api.MemMap(at+granularity, granularity, 0, other, 0))
	both := []cuda.MemAccessDesc{{Location: prop(0).Location, Flags: mayWrite}, {Location: prop(2).Location, Flags: mayWrite}}
	r.want(r.api.MemSetAccess(at, granularity/2, &both[0], 2), cuda.ErrInvalidValue)
	r.ok(r.api.MemSetAccess(at, 2*granularity, &both[0], 2))
	both[1].Location.ID = 9
	r.want(r.api.MemSetAccess(at, granularity, &both[0], 2), cuda.ErrInvalidDevice)
	both[0].Flags = 2
	r.want(r.api.MemSetAccess(at, granularity, &both[0], 1), cuda.ErrInvalidValue)
	r.want(r.api.MemFree(at), cuda.ErrInvalidValue)
	r.want(r.api.MemAddressFree(at, 2*granularity), cuda.ErrInvalidValue) // still mapped
	r.want(r.api.MemUnmap(at, granularity/2), cuda.ErrInvalidValue)
	r.ok(r.api.MemRelease(handle)) // it lives as long as it is mapped
	r.fill(0, at, granularity, 5)
	if !r.holds(2, at, granularity, 5) {
		t.Error("memory is gone though it is mapped")
	}
	r.ok(r.api.MemUnmap(at, 2*granularity))
	r.want(r.api.MemRelease(handle), cuda.ErrInvalidValue)
	r.ok(r.api.MemRelease(other))
	r.ok(r.api.MemAddressFree(at, 2*granularity))
	r.want(r.api.MemAddressFree(at, 2*granularity), cuda.ErrInvalidValue)
	var free, total uintptr
	r.on(0)
	r.ok(r.api.MemGetInfo(&free, &total))
	if free != 16<<20 {
		t.Errorf("%d bytes free", free)
	}
	r.ok(r.launch(0, 0, kernels.Fill, uint64(at), 64, 1, 0))
	r.want(r.api.CtxSynchronize(), cuda.ErrIllegalAddress)
}

func TestAccessThatCannotBeGranted(t *testing.T) {
	for name, alloc := range grants {
		l := newLab(t, three("{kind: no-access, pair: [0, 1]}"))
		if _, err := alloc(l.ctx[1], 4096, l.ctx[0]); code(err) != cuda.ErrInvalidDevice {
			t.Errorf("%s: %v, want 101", name, err)
		}
		get1(alloc(l.ctx[0], 4096, l.ctx[1]))(t)
	}
}

func TestPoolErrors(t *testing.T) {
	r := open(t, vmm3, History{})
	here := cuda.MemLocation{Type: cuda.MemLocationDevice, ID: 0}
	var pool uintptr
	var p cuda.DevicePtr
	r.want(r.api.MemPoolCreate(&pool, &cuda.MemPoolProps{AllocType: 9, Location: here}), cuda.ErrInvalidValue)
	r.ok(r.api.MemPoolCreate(&pool, &cuda.MemPoolProps{AllocType: cuda.MemAllocationPinned, Location: here}))
	none := cuda.MemAccessDesc{Location: here}
	r.want(r.api.MemPoolSetAccess(pool, &none, 1), cuda.ErrInvalidValue) // the owner's stays
	r.want(r.api.MemPoolSetAccess(77, &none, 1), cuda.ErrInvalidValue)
	r.want(r.api.MemAllocFromPoolAsync(&p, 64<<20, pool, 0), cuda.ErrOutOfMemory)
	r.want(r.api.MemAllocFromPoolAsync(&p, 64, pool, 77), cuda.ErrInvalidHandle)
	r.ok(r.api.MemAllocFromPoolAsync(&p, 64, pool, 0))
	// Access may be granted, and taken, after the fact.
	peer := cuda.MemAccessDesc{Location: cuda.MemLocation{Type: cuda.MemLocationDevice, ID: 2}, Flags: mayWrite}
	r.ok(r.api.MemPoolSetAccess(pool, &peer, 1))
	r.fill(2, p, 64, 1)
	if !r.holds(0, p, 64, 1) {
		t.Error("what the peer stored is not there")
	}
	plain := r.alloc(0, 64)
	r.want(r.api.MemFreeAsync(plain, 0), cuda.ErrInvalidValue)
	r.ok(r.api.MemFreeAsync(p, 0))
	r.want(r.api.MemFreeAsync(p, 0), cuda.ErrInvalidValue)
	r.ok(r.api.MemPoolDestroy(pool))
	r.want(r.api.MemPoolDestroy(pool), cuda.ErrInvalidValue)
}

// TestFaultsOfGrantedMemory shows that it makes no difference how memory was
// allocated.
func TestFaultsOfGrantedMemory(t *testing.T) {
	for name, alloc := range grants {
		l := newLab(t, vmm3+"faults: [{kind: corrupt, pair: [0, 1], engine: sm-write, offset: 70000, bit: 1}, {kind: stale, pair: [2, 1], engine: sm-write, offset: 1MiB}]\n")
		b := get1(alloc(l.ctx[1], 3<<20, l.ctx[0], l.ctx[2]))(t)
		l.fill(0, b, 1)
		if n, first := l.wrong(1, b, 1); n != 1 || first != 70000 {
			t.Errorf("%s: %d wrong from %d, want 1 at 70000", name, n, first)
		}
		l.fill(2, b, 2)
		if n, first := l.wrong(1, b, 2); !near(n, 2<<20) || first != 1<<20 {
			t.Errorf("%s: %d wrong from %d, want 2 MiB from 1 MiB on", name, n, first)
		}
		l.fill(1, b, 3)
		if n, _ := l.wrong(1, b, 3); n != 0 {
			t.Errorf("%s: the owner has %d wrong", name, n)
		}
	}
}

func TestOptionalSymbols(t *testing.T) {
	all := cuda.OptionalSymbols()
	if len(all) == 0 {
		t.Fatal("nothing is optional")
	}
	for _, symbol := range all {
		l := newLab(t, node(gpus(2, "NVIDIA L40S"), "driver: {missing-symbols: ["+symbol+"]}"))
		b := l.alloc(0, 4096)
		rows := cuda.Rows{Buffer: b, Pitch: 64}
		failed := 0
		for _, use := range []func() error{
			func() error { _, err := l.ctx[0].AllocVMM(4096); return err },
			func() error { _, err := l.ctx[0].AllocPool(4096); return err },
			func() error { _, err := b.IPCHandle(); return err },
			func() error { _, err := l.ctx[0].OpenIPC(cuda.IPCHandle{}, 4096); return err },
			func() error { return l.streams[0].Copy2D(rows, rows, 64, 2) },
			func() error { _, err := l.streams[0].Capture(func() error { return nil }); return err },
		} {
			if cuda.Unavailable(use()) {
				failed++
			}
		}
		if failed != 1 {
			t.Errorf("without %s, %d of the features are unavailable, want 1", symbol, failed)
		}
	}
}
