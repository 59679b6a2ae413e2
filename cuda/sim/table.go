package sim

import (
	"syscall"
	"unsafe"

	"github.com/peerproof/peerproof/cuda"
)

// table is the driver's function table of the process.
func (p *process) table() *cuda.API {
	return &cuda.API{
		Init:             p.cuInit,
		DriverGetVersion: p.driverGetVersion,
		GetErrorName:     getErrorName,
		GetErrorString:   getErrorString,
		DeviceGetCount:   p.deviceGetCount,
		DeviceGet:        p.deviceGet,
		DeviceGetName:    p.deviceGetName,
		DeviceGetUUID:    p.deviceGetUUID,
		DeviceGetBusID:   p.deviceGetBusID,
		DeviceAttribute:  p.deviceAttribute,
		CanAccessPeer:    p.canAccessPeer,
		P2PAttribute:     p.p2pAttribute,

		PrimaryCtxRetain:  p.primaryCtxRetain,
		PrimaryCtxRelease: p.primaryCtxRelease,
		CtxSetCurrent:     p.ctxSetCurrent,
		CtxSynchronize:    p.ctxSynchronize,
		EnablePeerAccess:  p.enablePeerAccess,
		DisablePeerAccess: p.disablePeerAccess,

		MemAlloc:                p.memAlloc,
		MemFree:                 p.memFree,
		MemGetInfo:              p.memGetInfo,
		MemHostAlloc:            p.memHostAlloc,
		MemFreeHost:             p.memFreeHost,
		MemHostGetDevicePointer: p.memHostGetDevicePointer,

		MemsetD8Async:   p.memsetD8Async,
		MemcpyHtoDAsync: p.memcpyHtoDAsync,
		MemcpyDtoHAsync: p.memcpyDtoHAsync,
		MemcpyDtoDAsync: p.memcpyDtoDAsync,
		MemcpyPeerAsync: p.memcpyPeerAsync,

		StreamCreate:      p.streamCreate,
		StreamDestroy:     p.streamDestroy,
		StreamSynchronize: p.streamSynchronize,
		StreamQuery:       p.streamQuery,
		StreamWaitEvent:   p.streamWaitEvent,
		EventCreate:       p.eventCreate,
		EventDestroy:      p.eventDestroy,
		EventRecord:       p.eventRecord,
		EventSynchronize:  p.eventSynchronize,
		EventElapsedTime:  p.eventElapsedTime,

		ModuleLoadData:    p.moduleLoadData,
		ModuleUnload:      p.moduleUnload,
		ModuleGetFunction: p.moduleGetFunction,
		LaunchKernel:      p.launchKernel,
	}
}

// started runs a call that needs cuInit and nothing else.
func (p *process) started(call func() cuda.Result) cuda.Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.sticky != cuda.Success:
		return p.sticky
	case !p.initialised:
		return cuda.ErrNotInitialized
	}
	return call()
}

// inContext runs a call on the context that is current on this OS thread.
func (p *process) inContext(call func(*context) cuda.Result) cuda.Result {
	return p.started(func() cuda.Result {
		c := p.current[syscall.Gettid()]
		switch {
		case c == nil:
			return cuda.ErrInvalidContext
		case c.dead:
			return cuda.ErrContextIsDestroyed
		case c.gpu.lost:
			return cuda.ErrUnknown
		}
		return call(c)
	})
}

// onDevice runs a question about a device.
func (p *process) onDevice(device int32, call func(*gpu) cuda.Result) cuda.Result {
	return p.started(func() cuda.Result {
		switch {
		case device < 0 || int(device) >= len(p.ordinals):
			return cuda.ErrInvalidDevice
		case p.ordinals[device].lost:
			return cuda.ErrUnknown
		}
		return call(p.ordinals[device])
	})
}

// newHandle gives a handle for an object; handles are never given twice.
func (p *process) newHandle(object any) uintptr {
	if p.handle == 0 {
		p.handle = 0x10000
	}
	p.handle += 0x100
	p.handles[p.handle] = object
	return p.handle
}

// object is what a handle stands for; false where that is no T.
func object[T any](p *process, handle uintptr) (T, bool) {
	o, ok := p.handles[handle].(T)
	return o, ok
}

func (p *process) cuInit(flags uint32) cuda.Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := &p.file.driver
	switch {
	case p.sticky != cuda.Success:
		return p.sticky
	case flags != 0:
		return cuda.ErrInvalidValue
	case len(p.gpus) > 0 && d.kernelModule != d.version:
		return cuda.ErrSystemDriverMismatch
	}
	for _, ft := range p.file.faults {
		if ft.kind == "cuda-init" {
			return cuda.Result(ft.code)
		}
	}
	if len(p.ordinals) == 0 {
		return cuda.ErrNoDevice
	}
	p.initialised = true
	return cuda.Success
}

// driverGetVersion needs no cuInit.
func (p *process) driverGetVersion(version *int32) cuda.Result {
	*version = int32(p.file.driver.cuda)
	return cuda.Success
}

func cString(text string) *byte { return unsafe.SliceData(append([]byte(text), 0)) }

// putString writes text with a NUL into a caller's buffer, as much as fits.
func putString(at *byte, size int32, text string) cuda.Result {
	if at == nil || size < 1 {
		return cuda.ErrInvalidValue
	}
	buffer := unsafe.Slice(at, size)
	n := copy(buffer[:size-1], text)
	buffer[n] = 0
	return cuda.Success
}

func (p *process) deviceGetCount(count *int32) cuda.Result {
	return p.started(func() cuda.Result {
		*count = int32(len(p.ordinals))
		return cuda.Success
	})
}

// deviceGet gives a number for a number and asks nothing of the device, lost
// or not.
func (p *process) deviceGet(device *int32, ordinal int32) cuda.Result {
	return p.started(func() cuda.Result {
		if ordinal < 0 || int(ordinal) >= len(p.ordinals) {
			return cuda.ErrInvalidDevice
		}
		*device = ordinal
		return cuda.Success
	})
}

func (p *process) deviceGetName(name *byte, size int32, device int32) cuda.Result {
	return p.onDevice(device, func(*gpu) cuda.Result { return putString(name, size, p.file.product.model) })
}

func (p *process) deviceGetUUID(id *[16]byte, device int32) cuda.Result {
	return p.onDevice(device, func(g *gpu) cuda.Result {
		*id = g.uuid
		return cuda.Success
	})
}

func (p *process) deviceGetBusID(busID *byte, size int32, device int32) cuda.Result {
	return p.onDevice(device, func(g *gpu) cuda.Result { return putString(busID, size, g.place.bus) })
}

func (p *process) deviceAttribute(value *int32, attribute int32, device int32) cuda.Result {
	return p.onDevice(device, func(g *gpu) cuda.Result {
		pr := &p.file.product
		switch attribute {
		case cuda.AttrMultiprocessorCount:
			*value = pr.sms
		case cuda.AttrPCIBusID:
			*value = int32(g.place.number)
		case cuda.AttrPCIDeviceID:
			*value = 0 // the number of the device on its bus
		case cuda.AttrPCIDomainID:
			*value = int32(g.place.domain)
		case cuda.AttrMemoryClockKHz:
			*value = int32(pr.memoryMHz * 1000)
		case cuda.AttrMemoryBusWidthBits:
			*value = int32(pr.busBits)
		case cuda.AttrVirtualMemory, cuda.AttrMemoryPools:
			*value = 1 // older drivers than any that has cuDeviceGetUuid_v2 have both
		case cuda.AttrComputeMajor:
			*value = int32(pr.major)
		case cuda.AttrComputeMinor:
			*value = int32(pr.minor)
		default:
			return cuda.ErrInvalidValue
		}
		return cuda.Success
	})
}
