package cuda

import (
	"fmt"
	"math/bits"
)

// Rows are rows of bytes in a buffer: the first one begins at Offset, each next
// one Pitch bytes after the one before.
type Rows struct {
	Buffer        *Buffer
	Offset, Pitch uint64
}

// Copy2D queues a copy of height rows of width bytes between buffers of any
// two contexts. The bytes between the rows stay as they are. The error is
// Unavailable where the driver cannot.
func (s *Stream) Copy2D(dst, src Rows, width, height uint64) error {
	const op = "cuMemcpy3DPeerAsync"
	if err := need(op, s.context.api.Memcpy3DPeerAsync != nil); err != nil {
		return err
	}
	to, err := dst.end(op, width, height)
	if err != nil {
		return fmt.Errorf("destination: %w", err)
	}
	from, err := src.end(op, width, height)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	rows := &Memcpy3DPeer{Src: from, Dst: to, WidthInBytes: uintptr(width), Height: uintptr(height), Depth: 1}
	return s.do(op, func() Result { return s.context.api.Memcpy3DPeerAsync(rows, s.handle) })
}

// end is where the rows are, or why they are not in their buffer.
func (r Rows) end(op string, width, height uint64) (Memcpy3DEnd, error) {
	if height == 0 || width > r.Pitch {
		return Memcpy3DEnd{}, fmt.Errorf("%s: %d rows of %d bytes, %d apart", op, height, width, r.Pitch)
	}
	over, bytes := bits.Mul64(height-1, r.Pitch)
	bytes, carry := bits.Add64(bytes, width, 0)
	if over != 0 || carry != 0 {
		return Memcpy3DEnd{}, fmt.Errorf("%s: %d rows, %d apart, are out of bounds", op, height, r.Pitch)
	}
	ptr, err := r.Buffer.span(op, r.Offset, bytes)
	if err != nil {
		return Memcpy3DEnd{}, err
	}
	return Memcpy3DEnd{
		MemoryType: MemoryTypeDevice, Device: ptr, Context: r.Buffer.context.handle,
		Pitch: uintptr(r.Pitch), PlaneHeight: uintptr(height),
	}, nil
}
