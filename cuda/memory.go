package cuda

import (
	"errors"
	"fmt"
	"unsafe"
)

// Buffer is device memory.
type Buffer struct {
	context *Context
	ptr     DevicePtr
	bytes   uint64
	// free gives back what Alloc did not make; nil: cuMemFree. Unlike that it
	// would not wait for what is queued.
	free func() error
}

// Ptr is the buffer's address.
func (b *Buffer) Ptr() DevicePtr { return b.ptr }

// Bytes is the buffer's size.
func (b *Buffer) Bytes() uint64 { return b.bytes }

// Context is the context that the buffer was allocated in.
func (b *Buffer) Context() *Context { return b.context }

// Close frees the memory, after what is queued in its context has run.
func (b *Buffer) Close() error {
	if b.ptr == 0 {
		return nil
	}
	ptr := b.ptr
	b.ptr = 0
	if b.free != nil {
		return errors.Join(b.context.Synchronize(), b.free())
	}
	return b.context.do("cuMemFree", func() Result { return b.context.api.MemFree(ptr) })
}

// span is the address of a range of the buffer, or why there is none.
func (b *Buffer) span(op string, offset, bytes uint64) (DevicePtr, error) {
	if err := within(op, "device buffer", b.ptr == 0, b.bytes, offset, bytes); err != nil {
		return 0, err
	}
	return b.ptr + DevicePtr(offset), nil
}

// HostBuffer is page-locked host memory that copy engines and kernels reach.
type HostBuffer struct {
	context *Context
	host    unsafe.Pointer
	device  DevicePtr
	bytes   uint64
}

// Data is the memory itself, until Close. A kernel may write it at any time.
func (b *HostBuffer) Data() []byte {
	return unsafe.Slice((*byte)(b.host), b.bytes)
}

// Size is the buffer's size in bytes.
func (b *HostBuffer) Size() uint64 { return b.bytes }

// DevicePtr is the address by which kernels reach the memory.
func (b *HostBuffer) DevicePtr() DevicePtr { return b.device }

// Close frees the memory. Data must not be used any more.
func (b *HostBuffer) Close() error {
	if b.host == nil {
		return nil
	}
	host := b.host
	b.host, b.device, b.bytes = nil, 0, 0
	return b.context.do("cuMemFreeHost", func() Result { return b.context.api.MemFreeHost(host) })
}

// span is the address of a range of the buffer, or why there is none.
func (b *HostBuffer) span(op string, offset, bytes uint64) (unsafe.Pointer, error) {
	if err := within(op, "host buffer", b.host == nil, b.bytes, offset, bytes); err != nil {
		return nil, err
	}
	return unsafe.Add(b.host, offset), nil
}

// within checks a range before the driver is asked: out of bounds it might
// silently work on a neighbour.
func within(op, what string, closed bool, size, offset, bytes uint64) error {
	switch {
	case closed:
		return fmt.Errorf("%s: %s is closed", op, what)
	case bytes == 0:
		return fmt.Errorf("%s: %s: 0 bytes", op, what)
	case offset > size || bytes > size-offset:
		return fmt.Errorf("%s: %s of %d bytes: %d bytes at offset %d are out of bounds", op, what, size, bytes, offset)
	default:
		return nil
	}
}
