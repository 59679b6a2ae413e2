package cuda

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// addOptional adds what a driver may lack.
func (f *fake) addOptional(api *API, fresh func(*uintptr)) {
	access := func(desc *MemAccessDesc, count uintptr) string {
		return fmt.Sprint(unsafe.Slice(desc, count))
	}
	end := func(e Memcpy3DEnd) string {
		return fmt.Sprintf("type %d %x@%x pitch %d of %d at %d %d %d", e.MemoryType, e.Device, e.Context, e.Pitch, e.PlaneHeight, e.XInBytes, e.Y, e.Z)
	}
	api.Memcpy3DPeerAsync = func(c *Memcpy3DPeer, s uintptr) Result {
		return f.said("Memcpy3DPeerAsync", "%s <- %s %dx%dx%d %x", end(c.Dst), end(c.Src), c.WidthInBytes, c.Height, c.Depth, s)
	}

	api.StreamBeginCapture = func(s uintptr, mode uint32) Result { return f.said("StreamBeginCapture", "%x %d", s, mode) }
	api.StreamEndCapture = func(s uintptr, graph *uintptr) Result {
		result := f.said("StreamEndCapture", "%x", s)
		if result == Success {
			fresh(graph)
		}
		return result
	}
	api.GraphInstantiate = func(exec *uintptr, graph uintptr, flags uint64) Result {
		result := f.said("GraphInstantiate", "%x %d", graph, flags)
		if result == Success {
			fresh(exec)
		}
		return result
	}
	api.GraphLaunch = func(exec, s uintptr) Result { return f.said("GraphLaunch", "%x %x", exec, s) }
	api.GraphExecDestroy = func(exec uintptr) Result { return f.said("GraphExecDestroy", "%x", exec) }
	api.GraphDestroy = func(graph uintptr) Result { return f.said("GraphDestroy", "%x", graph) }

	api.MemGetAllocationGranularity = func(n *uintptr, prop *MemAllocationProp, option uint32) Result {
		*n = 64
		return f.said("MemGetAllocationGranularity", "%v %d", *prop, option)
	}
	api.MemAddressReserve = func(p *DevicePtr, n, alignment uintptr, hint DevicePtr, flags uint64) Result {
		*p = 0x50000
		return f.said("MemAddressReserve", "%d %d %x %d", n, alignment, hint, flags)
	}
	api.MemAddressFree = func(p DevicePtr, n uintptr) Result { return f.said("MemAddressFree", "%x %d", p, n) }
	api.MemCreate = func(h *uint64, n uintptr, prop *MemAllocationProp, flags uint64) Result {
		*h = 0x333
		return f.said("MemCreate", "%d %v %d", n, *prop, flags)
	}
	api.MemRelease = func(h uint64) Result { return f.said("MemRelease", "%x", h) }
	api.MemMap = func(p DevicePtr, n, offset uintptr, h, flags uint64) Result {
		return f.said("MemMap", "%x %d %d %x %d", p, n, offset, h, flags)
	}
	api.MemUnmap = func(p DevicePtr, n uintptr) Result { return f.said("MemUnmap", "%x %d", p, n) }
	api.MemSetAccess = func(p DevicePtr, n uintptr, desc *MemAccessDesc, count uintptr) Result {
		return f.said("MemSetAccess", "%x %d %s", p, n, access(desc, count))
	}

	api.MemPoolCreate = func(pool *uintptr, props *MemPoolProps) Result {
		fresh(pool)
		return f.said("MemPoolCreate", "%d %d %v %d", props.AllocType, props.HandleTypes, props.Location, props.MaxSize)
	}
	api.MemPoolDestroy = func(pool uintptr) Result { return f.said("MemPoolDestroy", "%x", pool) }
	api.MemPoolSetAccess = func(pool uintptr, desc *MemAccessDesc, count uintptr) Result {
		return f.said("MemPoolSetAccess", "%x %s", pool, access(desc, count))
	}
	api.MemAllocFromPoolAsync = func(p *DevicePtr, n, pool, s uintptr) Result {
		*p = 0x60000
		return f.said("MemAllocFromPoolAsync", "%d %x %x", n, pool, s)
	}
	api.MemFreeAsync = func(p DevicePtr, s uintptr) Result { return f.said("MemFreeAsync", "%x %x", p, s) }

	api.IPCGetMemHandle = func(h *IPCHandle, p DevicePtr) Result {
		h.Reserved[0], h.Reserved[63] = 1, byte(p>>16)
		return f.said("IPCGetMemHandle", "%x", p)
	}
	api.IPCOpenMemHandle = func(p *DevicePtr, h IPCHandle, flags uint32) Result {
		*p = 0x80000
		return f.said("IPCOpenMemHandle", "%d..%d %d", h.Reserved[0], h.Reserved[63], flags)
	}
	api.IPCCloseMemHandle = func(p DevicePtr) Result { return f.said("IPCCloseMemHandle", "%x", p) }
}

// fakeNCCL notes its calls among those of the driver's fake. 7 is its answer
// where a test sets one.
func (f *fake) nccl() *NCCL {
	said := func(symbol, format string, args ...any) NCCLResult {
		return NCCLResult(f.said(symbol, format, args...))
	}
	return &NCCL{
		GetVersion: func(v *int32) NCCLResult { *v = 22803; return said("GetVersion", "") },
		GetErrorString: func(code NCCLResult) *byte {
			if code != 7 {
				return nil
			}
			s, _ := unix.BytePtrFromString("remote process exited")
			return s
		},
		CommInitAll: func(comms *uintptr, n int32, ordinals *int32) NCCLResult {
			for i := range unsafe.Slice(comms, n) {
				unsafe.Slice(comms, n)[i] = uintptr(0xcc0 + i)
			}
			return said("CommInitAll", "%v", unsafe.Slice(ordinals, n))
		},
		CommDestroy: func(comm uintptr) NCCLResult { return said("CommDestroy", "%x", comm) },
		AllReduce: func(send, recv DevicePtr, n uintptr, kind NCCLType, op NCCLOp, comm, s uintptr) NCCLResult {
			return said("AllReduce", "%x %x %d %d %d %x %x", send, recv, n, kind, op, comm, s)
		},
		AllGather: func(send, recv DevicePtr, n uintptr, kind NCCLType, comm, s uintptr) NCCLResult {
			return said("AllGather", "%x %x %d %d %x %x", send, recv, n, kind, comm, s)
		},
		ReduceScatter: func(send, recv DevicePtr, n uintptr, kind NCCLType, op NCCLOp, comm, s uintptr) NCCLResult {
			return said("ReduceScatter", "%x %x %d %d %d %x %x", send, recv, n, kind, op, comm, s)
		},
		Send: func(p DevicePtr, n uintptr, kind NCCLType, peer int32, comm, s uintptr) NCCLResult {
			return said("Send", "%x %d %d %d %x %x", p, n, kind, peer, comm, s)
		},
		Recv: func(p DevicePtr, n uintptr, kind NCCLType, peer int32, comm, s uintptr) NCCLResult {
			return said("Recv", "%x %d %d %d %x %x", p, n, kind, peer, comm, s)
		},
		GroupStart: func() NCCLResult { return said("GroupStart", "") },
		GroupEnd:   func() NCCLResult { return said("GroupEnd", "") },
	}
}
