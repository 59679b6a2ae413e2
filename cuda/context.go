package cuda

import "runtime"

// Context is a reference to the primary context of a device. What was made in
// a context is gone with the device's last reference to it.
type Context struct {
	device *Device
	api    *API
	handle uintptr // CUcontext
}

// Device is the device that the context is on.
func (c *Context) Device() *Device { return c.device }

// do makes a call with the context current. The thread is locked in between,
// since what is current belongs to the OS thread and goroutines move.
func (c *Context) do(op string, call func() Result) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.device.check("cuCtxSetCurrent", c.api.CtxSetCurrent(c.handle)); err != nil {
		return err
	}
	return c.device.check(op, call())
}

// Close gives the reference back. Closing twice is harmless.
func (c *Context) Close() error {
	if c.handle == 0 {
		return nil
	}
	c.handle = 0
	return c.device.check("cuDevicePrimaryCtxRelease", c.api.PrimaryCtxRelease(c.device.handle))
}

// Synchronize waits until everything queued in the context has run. It returns
// the error of a kernel that faulted.
func (c *Context) Synchronize() error {
	return c.do("cuCtxSynchronize", c.api.CtxSynchronize)
}

// MemInfo is the device's free and total memory in bytes.
func (c *Context) MemInfo() (free, total uint64, err error) {
	var f, t uintptr
	err = c.do("cuMemGetInfo", func() Result { return c.api.MemGetInfo(&f, &t) })
	return uint64(f), uint64(t), err
}

// EnablePeer lets kernels of this context touch memory of peer's, in this
// direction only.
func (c *Context) EnablePeer(peer *Context) error { return c.EnablePeerFlags(peer, 0) }

// EnablePeerFlags is EnablePeer with the driver's flags, of which none is
// defined: other than 0 gives ErrInvalidValue.
func (c *Context) EnablePeerFlags(peer *Context, flags uint32) error {
	return c.do("cuCtxEnablePeerAccess", func() Result { return c.api.EnablePeerAccess(peer.handle, flags) })
}

// DisablePeer takes EnablePeer back.
func (c *Context) DisablePeer(peer *Context) error {
	return c.do("cuCtxDisablePeerAccess", func() Result { return c.api.DisablePeerAccess(peer.handle) })
}

// Alloc allocates device memory. Its contents are undefined.
func (c *Context) Alloc(bytes uint64) (*Buffer, error) {
	b := &Buffer{context: c, bytes: bytes}
	if err := c.do("cuMemAlloc", func() Result { return c.api.MemAlloc(&b.ptr, uintptr(bytes)) }); err != nil {
		return nil, err
	}
	return b, nil
}

// AllocHost allocates page-locked host memory, portable (pinned for every
// context) and mapped (kernels reach it through DevicePtr). Its pages come from
// the NUMA node of the CPU that calls, under Linux's default policy.
func (c *Context) AllocHost(bytes uint64) (*HostBuffer, error) {
	const portable, deviceMap = 1, 2 // CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_DEVICEMAP
	b := &HostBuffer{context: c, bytes: bytes}
	if err := c.do("cuMemHostAlloc", func() Result {
		return c.api.MemHostAlloc(&b.host, uintptr(bytes), portable|deviceMap)
	}); err != nil {
		return nil, err
	}
	if err := c.do("cuMemHostGetDevicePointer", func() Result {
		return c.api.MemHostGetDevicePointer(&b.device, b.host, 0)
	}); err != nil {
		_ = b.Close() // the first error says more
		return nil, err
	}
	return b, nil
}

// NewStream makes a stream that does not wait for the context's default one.
func (c *Context) NewStream() (*Stream, error) {
	const nonBlocking = 1 // CU_STREAM_NON_BLOCKING
	s := &Stream{context: c}
	if err := c.do("cuStreamCreate", func() Result { return c.api.StreamCreate(&s.handle, nonBlocking) }); err != nil {
		return nil, err
	}
	return s, nil
}

// NewEvent makes an event. Only with timing can Since measure it.
func (c *Context) NewEvent(timing bool) (*Event, error) {
	const disableTiming = 2 // CU_EVENT_DISABLE_TIMING
	var flags uint32
	if !timing {
		flags = disableTiming
	}
	e := &Event{context: c}
	if err := c.do("cuEventCreate", func() Result { return c.api.EventCreate(&e.handle, flags) }); err != nil {
		return nil, err
	}
	return e, nil
}
