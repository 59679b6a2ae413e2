package sim

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/kernels"
)

// context is the primary context of a GPU.
type context struct {
	gpu     *gpu
	handle  uintptr
	refs    int
	dead    bool
	peers   []*context // whose memory its kernels may touch
	null    *stream    // the default stream
	streams []*stream
	pinned  bool
}

// all are the context's streams.
func (c *context) all() []*stream { return append([]*stream{c.null}, c.streams...) }

func (p *process) primaryCtxRetain(ctx *uintptr, device int32) cuda.Result {
	return p.onDevice(device, func(g *gpu) cuda.Result {
		if g.contextNo != cuda.Success {
			return g.contextNo
		}
		if g.primary == nil {
			if !g.claim() {
				return cuda.ErrDeviceUnavailable
			}
			c := &context{gpu: g}
			c.null = &stream{context: c}
			c.handle = p.newHandle(c)
			g.primary = c
		}
		g.primary.refs++
		*ctx = g.primary.handle
		return cuda.Success
	})
}

// claim says whether the GPU's compute mode lets this process in. The processes
// of a node that see each other are those of a group, a child of the supervisor
// and its helpers: whichever has a context holds a name until its end.
func (g *gpu) claim() bool {
	ft := g.fault("compute-mode")
	switch {
	case ft == nil || ft.mode == "default":
		return true
	case ft.mode == "prohibited":
		return false
	}
	var err error
	g.claimed, err = net.Listen("unix", fmt.Sprintf("@peerproof-%d-%s", syscall.Getpgrp(), g.uuid))
	return err == nil
}

func (p *process) primaryCtxRelease(device int32) cuda.Result {
	return p.onDevice(device, func(g *gpu) cuda.Result {
		c := g.primary
		if c == nil {
			return cuda.ErrInvalidContext
		}
		if c.refs > 1 {
			c.refs--
			return cuda.Success
		}
		if r := p.settle(c.all()...); r != cuda.Success {
			return r
		}
		p.destroy(c)
		return cuda.Success
	})
}

// destroy ends a context and what was made in it. Pinned memory is portable
// and stays, as does what belongs to the device: pools and physical memory.
func (p *process) destroy(c *context) {
	c.dead, c.refs, c.gpu.primary = true, 0, nil
	if c.gpu.claimed != nil {
		_ = c.gpu.claimed.Close() // the name is free in any case
		c.gpu.claimed = nil
	}
	for _, part := range slices.Clone(c.gpu.memory.parts) {
		if part.origin == plain {
			c.gpu.memory.free(part)
			p.forget(part)
		}
	}
	for handle, o := range p.handles {
		if owned, ok := o.(interface{ owner() *context }); ok && owned.owner() == c {
			delete(p.handles, handle)
		}
	}
	for _, g := range p.gpus {
		if g.primary != nil {
			g.primary.peers = slices.DeleteFunc(g.primary.peers, func(peer *context) bool { return peer == c })
		}
	}
}

func (p *process) ctxSetCurrent(ctx uintptr) cuda.Result {
	return p.started(func() cuda.Result {
		if ctx == 0 {
			delete(p.current, syscall.Gettid())
			return cuda.Success
		}
		c, ok := object[*context](p, ctx)
		switch {
		case !ok || c.dead:
			return cuda.ErrInvalidContext
		case c.gpu.lost:
			return cuda.ErrUnknown
		}
		p.current[syscall.Gettid()] = c
		return cuda.Success
	})
}

func (p *process) ctxSynchronize() cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		for _, s := range c.streams {
			if s.capture != nil {
				return s.capture.spoil()
			}
		}
		return p.settle(c.all()...)
	})
}

// canAccess is what cuDeviceCanAccessPeer says: whether a could be let touch
// b's memory.
func (p *process) canAccess(a, b *gpu) bool {
	if a == b || a.mig || b.mig || !p.reaches(a, b) {
		return false
	}
	return !p.hasPairFault("no-access", a, b)
}

// pairFault finds a fault of an ordered pair.
func (p *process) pairFault(kind string, a, b *gpu) *fault {
	for i := range p.file.faults {
		if ft := &p.file.faults[i]; ft.kind == kind && ft.pairs(a.index, b.index) {
			return ft
		}
	}
	return nil
}

func (p *process) hasPairFault(kind string, a, b *gpu) bool { return p.pairFault(kind, a, b) != nil }

// pairs says that a fault is about a's engines on b's memory.
func (ft *fault) pairs(a, b int) bool {
	switch {
	case ft.allPairs:
		return a != b
	case ft.from == a && ft.to == b:
		return true
	default:
		return ft.both && ft.from == b && ft.to == a
	}
}

func (p *process) canAccessPeer(can *int32, device, peer int32) cuda.Result {
	return p.onDevice(device, func(a *gpu) cuda.Result {
		if peer < 0 || int(peer) >= len(p.ordinals) {
			return cuda.ErrInvalidDevice
		}
		b := p.ordinals[peer]
		if b.lost {
			return cuda.ErrUnknown
		}
		*can = 0
		if p.canAccess(a, b) {
			*can = 1
		}
		return cuda.Success
	})
}

func (p *process) p2pAttribute(value *int32, attribute, src, dst int32) cuda.Result {
	return p.onDevice(src, func(a *gpu) cuda.Result {
		if dst < 0 || int(dst) >= len(p.ordinals) || src == dst {
			return cuda.ErrInvalidDevice
		}
		b := p.ordinals[dst]
		if b.lost {
			return cuda.ErrUnknown
		}
		direct := p.canAccess(a, b)
		linked := p.activeLinks(a, b) > 0
		*value = 0
		switch attribute {
		case cuda.P2PPerformanceRank:
			if direct && !linked {
				*value = 1 // 0 is the fastest
			}
		case cuda.P2PAccessSupported:
			if direct {
				*value = 1
			}
		case cuda.P2PNativeAtomics:
			if direct && linked {
				*value = 1
			}
		default:
			return cuda.ErrInvalidValue
		}
		return cuda.Success
	})
}

// enablePeerAccess lets kernels of the current context touch peer's memory,
// one way. The order of the checks is the driver's.
func (p *process) enablePeerAccess(peer uintptr, flags uint32) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		if flags != 0 {
			return cuda.ErrInvalidValue
		}
		other, ok := object[*context](p, peer)
		switch {
		case !ok || other.dead:
			return cuda.ErrInvalidContext
		case other.gpu.lost:
			return cuda.ErrUnknown
		case !p.canAccess(c.gpu, other.gpu):
			return cuda.ErrPeerAccessUnsupported
		case slices.Contains(c.peers, other):
			if ft := p.pairFault("bad-error", c.gpu, other.gpu); ft != nil {
				return cuda.Result(ft.code)
			}
			return cuda.ErrPeerAlreadyEnabled
		}
		return p.enable(c, other)
	})
}

// enable lets kernels of c touch other's memory from now on.
func (p *process) enable(c, other *context) cuda.Result {
	if ft := p.pairFault("enable-fails", c.gpu, other.gpu); ft != nil {
		return cuda.Result(ft.code)
	}
	for i := range p.file.faults {
		if ft := &p.file.faults[i]; ft.kind == "too-many-peers" && p.full(ft, c, other) {
			return cuda.ErrTooManyPeers
		}
	}
	c.peers = append(c.peers, other)
	p.spend(c.gpu, other.gpu, enableSeconds)
	return cuda.Success
}

// full says that a limit of peers leaves no room for other among those of c. It
// counts what c has enabled; or, with both, connections as the CUDA programming
// guide does: a GPU's in either direction, of which none has too many at either
// end, and the second direction of one takes no more room.
func (p *process) full(ft *fault, c, other *context) bool {
	if !ft.both {
		return len(c.peers) >= ft.limit
	}
	return !slices.Contains(other.peers, c) && (p.connections(c) >= ft.limit || p.connections(other) >= ft.limit)
}

// connections are the GPUs that may touch the context's memory or whose memory
// it may touch.
func (p *process) connections(c *context) (n int) {
	for _, g := range p.gpus {
		if x := g.primary; x != nil && (slices.Contains(c.peers, x) || slices.Contains(x.peers, c)) {
			n++
		}
	}
	return n
}

func (p *process) disablePeerAccess(peer uintptr) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		other, ok := object[*context](p, peer)
		switch {
		case !ok || other.dead:
			return cuda.ErrInvalidContext
		case other.gpu.lost:
			return cuda.ErrUnknown
		}
		i := slices.Index(c.peers, other)
		if i < 0 {
			return cuda.ErrPeerNotEnabled
		}
		c.peers = slices.Delete(c.peers, i, i+1)
		p.spend(c.gpu, other.gpu, disableSeconds)
		return cuda.Success
	})
}

// module is a loaded image; function a kernel in it.
type (
	module struct {
		context *context
		image   string
	}
	function struct {
		module *module
		name   string
	}
)

func (m *module) owner() *context   { return m.context }
func (f *function) owner() *context { return f.module.context }

// moduleLoadData takes PTX, a text that ends with NUL.
func (p *process) moduleLoadData(handle *uintptr, image *byte) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		if image == nil {
			return cuda.ErrInvalidValue
		}
		n := 0
		for *(*byte)(unsafe.Add(unsafe.Pointer(image), n)) != 0 {
			n++
		}
		text := unsafe.String(image, n)
		if !strings.Contains(text, ".version") || !strings.Contains(text, ".target") {
			return 200 // CUDA_ERROR_INVALID_IMAGE
		}
		*handle = p.newHandle(&module{c, strings.Clone(text)})
		return cuda.Success
	})
}

func (p *process) moduleUnload(handle uintptr) cuda.Result {
	return p.inContext(func(*context) cuda.Result {
		m, ok := object[*module](p, handle)
		if !ok {
			return cuda.ErrInvalidHandle
		}
		delete(p.handles, handle)
		for h, o := range p.handles {
			if f, ok := o.(*function); ok && f.module == m {
				delete(p.handles, h)
			}
		}
		return cuda.Success
	})
}

// moduleGetFunction finds a kernel that the image has and the simulation knows.
func (p *process) moduleGetFunction(handle *uintptr, mod uintptr, name *byte) cuda.Result {
	return p.inContext(func(*context) cuda.Result {
		m, ok := object[*module](p, mod)
		if !ok || name == nil {
			return cuda.ErrInvalidHandle
		}
		n := 0
		for *(*byte)(unsafe.Add(unsafe.Pointer(name), n)) != 0 {
			n++
		}
		text := strings.Clone(unsafe.String(name, n))
		if _, known := kernels.Params[text]; !known || !strings.Contains(m.image, ".entry "+text+"(") {
			return cuda.ErrNotFound
		}
		*handle = p.newHandle(&function{m, text})
		return cuda.Success
	})
}
