package sim

import (
	"math/bits"

	"github.com/peerproof/peerproof/cuda"
)

// memcpy3DPeerAsync copies rows of device memory, by the copy engine of the
// stream's GPU as any copy.
func (p *process) memcpy3DPeerAsync(c3 *cuda.Memcpy3DPeer, handle uintptr) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		s, ok := p.stream(c, handle)
		switch {
		case !ok:
			return cuda.ErrInvalidHandle
		case c3 == nil:
			return cuda.ErrInvalidValue
		case c3.WidthInBytes == 0 || c3.Height == 0 || c3.Depth == 0:
			return cuda.Success // nothing to copy
		}
		dst, r := p.block3D(&c3.Dst, c3)
		if r != cuda.Success {
			return r
		}
		src, r := p.block3D(&c3.Src, c3)
		if r != cuda.Success {
			return r
		}
		if r := p.reachable(s, dst, src); r != cuda.Success {
			return r
		}
		copied := *c3 // the caller's may change
		p.do(s, func(s *stream) { p.copyRows(s, rows3D(&copied, dst, src)) })
		return cuda.Success
	})
}

// block3D is the memory from the first byte of an end of the copy to its last.
func (p *process) block3D(end *cuda.Memcpy3DEnd, c3 *cuda.Memcpy3DPeer) (span, cuda.Result) {
	owner, ok := object[*context](p, end.Context)
	switch {
	case end.MemoryType != cuda.MemoryTypeDevice, end.LOD != 0:
		return span{}, cuda.ErrInvalidValue
	case !ok || owner.dead:
		return span{}, cuda.ErrInvalidContext
	case end.XInBytes > end.Pitch || c3.WidthInBytes > end.Pitch-end.XInBytes:
		return span{}, cuda.ErrInvalidValue
	case c3.Depth > 1 && end.Y+c3.Height > end.PlaneHeight:
		return span{}, cuda.ErrInvalidValue
	}
	begin, over := offset3D(end, 0, 0)
	last, over2 := offset3D(end, c3.Height-1, c3.Depth-1)
	if over || over2 {
		return span{}, cuda.ErrInvalidValue
	}
	m, ok := p.find(end.Device+cuda.DevicePtr(begin), last-begin+uint64(c3.WidthInBytes))
	if !ok || m.gpu != owner.gpu.index {
		return span{}, cuda.ErrInvalidValue
	}
	return m, cuda.Success
}

// offset3D is where a row of a plane begins, from the end's address on.
func offset3D(end *cuda.Memcpy3DEnd, row, plane uintptr) (offset uint64, over bool) {
	high, rows := bits.Mul64(uint64(end.Z+plane), uint64(end.PlaneHeight))
	rows += uint64(end.Y + row)
	high2, offset := bits.Mul64(rows, uint64(end.Pitch))
	return offset + uint64(end.XInBytes), high|high2 != 0 || offset > 1<<62
}

// rows3D are the rows of a copy whose ends were looked up.
func rows3D(c3 *cuda.Memcpy3DPeer, dst, src span) []row {
	var rows []row
	at := func(end *cuda.Memcpy3DEnd, m span, y, z uintptr) span {
		begin, _ := offset3D(end, 0, 0) // they were computed before
		off, _ := offset3D(end, y, z)
		return span{m.allocation, m.off + off - begin, uint64(c3.WidthInBytes)}
	}
	for z := range c3.Depth {
		for y := range c3.Height {
			rows = append(rows, row{at(&c3.Dst, dst, y, z), at(&c3.Src, src, y, z)})
		}
	}
	return rows
}
