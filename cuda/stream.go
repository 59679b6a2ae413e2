package cuda

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"
)

// Stream is a queue of work on its context's device; copies queued here run on
// that device's engines. Its calls return when the work is queued, not when it
// is done, except that the driver may wait where it has to stage a copy.
type Stream struct {
	context *Context
	handle  uintptr // CUstream
}

func (s *Stream) do(op string, call func() Result) error { return s.context.do(op, call) }

// Context is the context that the stream was made in.
func (s *Stream) Context() *Context { return s.context }

// Close destroys the stream; what is queued still runs.
func (s *Stream) Close() error {
	if s.handle == 0 {
		return nil
	}
	handle := s.handle
	s.handle = 0
	return s.do("cuStreamDestroy", func() Result { return s.context.api.StreamDestroy(handle) })
}

// Launch queues a kernel on grid blocks of block threads, in one dimension.
// Each parameter is the kernel's 64-bit one of the same place; too few of them
// make the driver read past their end, so kernels.Params says how many.
func (s *Stream) Launch(fn *Function, grid, block uint32, params ...uint64) error {
	if fn.module.context.handle != s.context.handle {
		return fmt.Errorf("cuLaunchKernel: %s is loaded on gpu%d, the stream is on gpu%d",
			fn.name, fn.module.context.device.Slot, s.context.device.Slot)
	}
	// The driver reads an array of pointers to the values: both live on the Go
	// heap and stay where they are until it has returned.
	values := append([]uint64{}, params...)
	pointers := make([]unsafe.Pointer, len(values)+1)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&pointers[0])
	for i := range values {
		pin.Pin(&values[i])
		pointers[i] = unsafe.Pointer(&values[i])
	}
	return s.do("cuLaunchKernel", func() Result {
		return s.context.api.LaunchKernel(fn.handle, grid, 1, 1, block, 1, 1, 0, s.handle, &pointers[0], nil)
	})
}

// CopyPeer queues a copy between device buffers of any two contexts, by the
// copy engine of the stream's device. Without peer access the driver stages it
// through the host without a word.
func (s *Stream) CopyPeer(dst *Buffer, dstOffset uint64, src *Buffer, srcOffset, bytes uint64) error {
	const op = "cuMemcpyPeerAsync"
	to, from, err := spans(op, dst, dstOffset, src, srcOffset, bytes)
	if err != nil {
		return err
	}
	return s.do(op, func() Result {
		return s.context.api.MemcpyPeerAsync(to, dst.context.handle, from, src.context.handle, uintptr(bytes), s.handle)
	})
}

// CopyDtoD queues a copy between device buffers. Of two devices they need peer
// access.
func (s *Stream) CopyDtoD(dst *Buffer, dstOffset uint64, src *Buffer, srcOffset, bytes uint64) error {
	const op = "cuMemcpyDtoDAsync"
	to, from, err := spans(op, dst, dstOffset, src, srcOffset, bytes)
	if err != nil {
		return err
	}
	return s.do(op, func() Result { return s.context.api.MemcpyDtoDAsync(to, from, uintptr(bytes), s.handle) })
}

// CopyHtoD queues a copy from page-locked host memory to the device.
func (s *Stream) CopyHtoD(dst *Buffer, dstOffset uint64, src *HostBuffer, srcOffset, bytes uint64) error {
	const op = "cuMemcpyHtoDAsync"
	to, err := dst.span(op, dstOffset, bytes)
	if err != nil {
		return err
	}
	from, err := src.span(op, srcOffset, bytes)
	if err != nil {
		return err
	}
	return s.do(op, func() Result { return s.context.api.MemcpyHtoDAsync(to, from, uintptr(bytes), s.handle) })
}

// CopyDtoH queues a copy from the device to page-locked host memory.
func (s *Stream) CopyDtoH(dst *HostBuffer, dstOffset uint64, src *Buffer, srcOffset, bytes uint64) error {
	const op = "cuMemcpyDtoHAsync"
	to, err := dst.span(op, dstOffset, bytes)
	if err != nil {
		return err
	}
	from, err := src.span(op, srcOffset, bytes)
	if err != nil {
		return err
	}
	return s.do(op, func() Result { return s.context.api.MemcpyDtoHAsync(to, from, uintptr(bytes), s.handle) })
}

// Memset queues writing one value to a range of bytes.
func (s *Stream) Memset(dst *Buffer, offset, bytes uint64, value byte) error {
	const op = "cuMemsetD8Async"
	to, err := dst.span(op, offset, bytes)
	if err != nil {
		return err
	}
	return s.do(op, func() Result { return s.context.api.MemsetD8Async(to, value, uintptr(bytes), s.handle) })
}

func spans(op string, dst *Buffer, dstOffset uint64, src *Buffer, srcOffset, bytes uint64) (to, from DevicePtr, err error) {
	if to, err = dst.span(op, dstOffset, bytes); err != nil {
		return 0, 0, fmt.Errorf("destination: %w", err)
	}
	if from, err = src.span(op, srcOffset, bytes); err != nil {
		return 0, 0, fmt.Errorf("source: %w", err)
	}
	return to, from, nil
}

// Record queues an event: it happens when all work queued before is done.
func (s *Stream) Record(e *Event) error {
	return s.do("cuEventRecord", func() Result { return s.context.api.EventRecord(e.handle, s.handle) })
}

// WaitEvent makes the work queued from now on wait for an event, which may be
// another device's.
func (s *Stream) WaitEvent(e *Event) error {
	return s.do("cuStreamWaitEvent", func() Result { return s.context.api.StreamWaitEvent(s.handle, e.handle, 0) })
}

// Query says, without waiting, whether everything queued is done. It returns
// the error of a kernel that faulted.
func (s *Stream) Query() (done bool, err error) {
	err = s.do("cuStreamQuery", func() Result { return s.context.api.StreamQuery(s.handle) })
	if code, ok := Code(err); ok && code == ErrNotReady {
		return false, nil
	}
	return err == nil, err
}

// Synchronize waits until everything queued is done. It returns the error of a
// kernel that faulted.
func (s *Stream) Synchronize() error {
	return s.do("cuStreamSynchronize", func() Result { return s.context.api.StreamSynchronize(s.handle) })
}

// Event is a point in a stream.
type Event struct {
	context *Context
	handle  uintptr // CUevent
}

// Close destroys the event.
func (e *Event) Close() error {
	if e.handle == 0 {
		return nil
	}
	handle := e.handle
	e.handle = 0
	return e.context.do("cuEventDestroy", func() Result { return e.context.api.EventDestroy(handle) })
}

// Synchronize waits until the event, as last recorded, has happened.
func (e *Event) Synchronize() error {
	return e.context.do("cuEventSynchronize", func() Result { return e.context.api.EventSynchronize(e.handle) })
}

// Since is the time from start to e, both made with timing and both happened.
// The driver resolves about half a microsecond.
func (e *Event) Since(start *Event) (time.Duration, error) {
	var milliseconds float32
	err := e.context.do("cuEventElapsedTime", func() Result {
		return e.context.api.EventElapsedTime(&milliseconds, start.handle, e.handle)
	})
	return time.Duration(float64(milliseconds) * float64(time.Millisecond)), err
}
