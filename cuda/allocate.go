package cuda

import (
	"errors"
	"fmt"
	"math"
)

// AllocVMM allocates device memory of the virtual memory management functions:
// physical memory on the context's device, mapped at an address of its own for
// that device and those of accessFrom, whose kernels and copies may then touch
// it without EnablePeer. Its contents are undefined. The error is Unavailable
// where the driver or the device does not have these functions.
func (c *Context) AllocVMM(bytes uint64, accessFrom ...*Context) (*Buffer, error) {
	const op = "cuMemCreate"
	api := c.api
	if err := need(op, api.MemGetAllocationGranularity != nil, api.MemAddressReserve != nil, api.MemAddressFree != nil,
		api.MemCreate != nil, api.MemRelease != nil, api.MemMap != nil, api.MemUnmap != nil, api.MemSetAccess != nil); err != nil {
		return nil, err
	}
	if err := c.device.supports(op, AttrVirtualMemory); err != nil {
		return nil, err
	}
	prop := &MemAllocationProp{Type: MemAllocationPinned, Location: c.device.location()}
	var granularity uintptr
	if err := c.do("cuMemGetAllocationGranularity", func() Result {
		const minimum = 0 // CU_MEM_ALLOC_GRANULARITY_MINIMUM
		return api.MemGetAllocationGranularity(&granularity, prop, minimum)
	}); err != nil {
		return nil, err
	}
	if bytes == 0 || granularity == 0 || bytes > math.MaxInt64-uint64(granularity) {
		return nil, fmt.Errorf("%s: %d bytes in steps of %d", op, bytes, granularity)
	}
	size := (uintptr(bytes) + granularity - 1) / granularity * granularity

	var undo []func() error
	b := &Buffer{context: c, bytes: bytes, free: func() error { return unwind(undo) }}
	step := func(op string, call func() Result, back func() error) error {
		err := c.do(op, call)
		if err == nil && back != nil {
			undo = append(undo, back)
		}
		return err
	}
	var ptr DevicePtr
	var handle uint64
	err := step("cuMemAddressReserve", func() Result { return api.MemAddressReserve(&ptr, size, 0, 0, 0) },
		func() error { return c.do("cuMemAddressFree", func() Result { return api.MemAddressFree(ptr, size) }) })
	if err == nil {
		err = step("cuMemCreate", func() Result { return api.MemCreate(&handle, size, prop, 0) },
			func() error { return c.do("cuMemRelease", func() Result { return api.MemRelease(handle) }) })
	}
	if err == nil {
		err = step("cuMemMap", func() Result { return api.MemMap(ptr, size, 0, handle, 0) },
			func() error { return c.do("cuMemUnmap", func() Result { return api.MemUnmap(ptr, size) }) })
	}
	if err == nil {
		access := c.access(accessFrom)
		err = step("cuMemSetAccess", func() Result { return api.MemSetAccess(ptr, size, &access[0], uintptr(len(access))) }, nil)
	}
	if err != nil {
		return nil, errors.Join(err, unwind(undo))
	}
	b.ptr = ptr
	return b, nil
}

// AllocPool allocates device memory from a stream-ordered memory pool of its
// own, which kernels and copies of the devices of accessFrom may touch without
// EnablePeer. It has been allocated when AllocPool returns. Its contents are
// undefined. The error is Unavailable where the driver or the device has no
// pools.
func (c *Context) AllocPool(bytes uint64, accessFrom ...*Context) (*Buffer, error) {
	const op = "cuMemPoolCreate"
	api := c.api
	if err := need(op, api.MemPoolCreate != nil, api.MemPoolDestroy != nil, api.MemPoolSetAccess != nil,
		api.MemAllocFromPoolAsync != nil, api.MemFreeAsync != nil); err != nil {
		return nil, err
	}
	if err := c.device.supports(op, AttrMemoryPools); err != nil {
		return nil, err
	}
	stream, err := c.NewStream()
	if err != nil {
		return nil, err
	}
	undo := []func() error{stream.Close}
	b := &Buffer{context: c, bytes: bytes, free: func() error { return unwind(undo) }}
	props := &MemPoolProps{AllocType: MemAllocationPinned, Location: c.device.location()}
	var pool uintptr
	if err := c.do(op, func() Result { return api.MemPoolCreate(&pool, props) }); err != nil {
		return nil, errors.Join(err, unwind(undo))
	}
	undo = append(undo, func() error {
		return c.do("cuMemPoolDestroy", func() Result { return api.MemPoolDestroy(pool) })
	})
	// The owner's access cannot be set, only that of others.
	if access := c.access(accessFrom)[1:]; len(access) > 0 {
		if err := c.do("cuMemPoolSetAccess", func() Result {
			return api.MemPoolSetAccess(pool, &access[0], uintptr(len(access)))
		}); err != nil {
			return nil, errors.Join(err, unwind(undo))
		}
	}
	var ptr DevicePtr
	if err := c.do("cuMemAllocFromPoolAsync", func() Result {
		return api.MemAllocFromPoolAsync(&ptr, uintptr(bytes), pool, stream.handle)
	}); err != nil {
		return nil, errors.Join(err, unwind(undo))
	}
	undo = append(undo, stream.Synchronize, func() error {
		return c.do("cuMemFreeAsync", func() Result { return api.MemFreeAsync(ptr, stream.handle) })
	})
	if err := stream.Synchronize(); err != nil {
		return nil, errors.Join(err, unwind(undo))
	}
	b.ptr = ptr
	return b, nil
}

// unwind takes steps back, the newest first, all of them whatever fails.
func unwind(steps []func() error) error {
	var errs []error
	for i := len(steps) - 1; i >= 0; i-- {
		errs = append(errs, steps[i]())
	}
	return errors.Join(errs...)
}

func (dev *Device) location() MemLocation {
	return MemLocation{Type: MemLocationDevice, ID: dev.handle}
}

// access lets the device of c, first, and each other one read and write.
func (c *Context) access(others []*Context) []MemAccessDesc {
	desc := []MemAccessDesc{{Location: c.device.location(), Flags: MemAccessReadWrite}}
	seen := map[int32]bool{c.device.handle: true}
	for _, o := range others {
		if !seen[o.device.handle] {
			seen[o.device.handle] = true
			desc = append(desc, MemAccessDesc{Location: o.device.location(), Flags: MemAccessReadWrite})
		}
	}
	return desc
}

// IPCHandle names the buffer, which Alloc made, to other processes. The error
// is Unavailable where the driver cannot.
func (b *Buffer) IPCHandle() (IPCHandle, error) {
	const op = "cuIpcGetMemHandle"
	var handle IPCHandle
	if err := need(op, b.context.api.IPCGetMemHandle != nil); err != nil {
		return handle, err
	}
	if b.ptr == 0 {
		return handle, fmt.Errorf("%s: device buffer is closed", op)
	}
	err := b.context.do(op, func() Result { return b.context.api.IPCGetMemHandle(&handle, b.ptr) })
	return handle, err
}

// OpenIPC maps a buffer of so many bytes that another process made on any
// device of the machine; where that is another device, peer access to it is
// enabled. Close unmaps it and leaves the owner's buffer alone. A process
// cannot open a handle of its own. The error is Unavailable where the driver
// cannot.
func (c *Context) OpenIPC(handle IPCHandle, bytes uint64) (*Buffer, error) {
	const op = "cuIpcOpenMemHandle"
	const lazyEnablePeerAccess = 1 // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, which the driver insists on
	api := c.api
	if err := need(op, api.IPCOpenMemHandle != nil, api.IPCCloseMemHandle != nil); err != nil {
		return nil, err
	}
	b := &Buffer{context: c, bytes: bytes}
	var ptr DevicePtr
	if err := c.do(op, func() Result { return api.IPCOpenMemHandle(&ptr, handle, lazyEnablePeerAccess) }); err != nil {
		return nil, err
	}
	b.ptr = ptr
	b.free = func() error { return c.do("cuIpcCloseMemHandle", func() Result { return api.IPCCloseMemHandle(ptr) }) }
	return b, nil
}
