package transfer

import "testing"

// The copies of odd sizes are of the sizes around each power of four, at every
// alignment below 16 on both sides, and far enough apart for a guard between.
func TestOddWindows(t *testing.T) {
	for _, total := range []uint64{1 << 20, 1<<20 + 4096, 64 << 20} {
		all := oddWindows(total)
		sizes, sources, sinks := map[uint64]bool{}, map[uint64]bool{}, map[uint64]bool{}
		end := uint64(0)
		for i, w := range all {
			if w.Bytes == 0 {
				t.Errorf("%d: window %d copies nothing", total, i)
			}
			if w.Sink < end+128 {
				t.Errorf("%d: window %d begins at %d, %d bytes behind the one before", total, i, w.Sink, w.Sink-end)
			}
			if end = w.Sink + w.Bytes; end+128 > total {
				t.Errorf("%d: window %d ends at %d", total, i, end)
			}
			sizes[w.Bytes], sources[w.Source], sinks[w.Sink%16] = true, true, true
		}
		for size := uint64(1); size <= total/8; size *= 4 {
			if !sizes[size] || !sizes[size+1] || size > 1 && !sizes[size-1] {
				t.Errorf("%d: not every size around %d is copied", total, size)
			}
		}
		if len(sources) != 16 || len(sinks) != 16 {
			t.Errorf("%d: %d alignments of the source and %d of the sink, want 16", total, len(sources), len(sinks))
		}
		if last := all[len(all)-1]; last.Bytes*16 < total/8 {
			t.Errorf("%d: the largest window has %d bytes", total, last.Bytes)
		}
	}
}

// A sink that is too small for one window more has no window that leaves it.
func TestOddWindowsStayInside(t *testing.T) {
	for total := uint64(256); total < 6000; total++ {
		for _, w := range oddWindows(total) {
			if w.Sink+w.Bytes+128 > total {
				t.Fatalf("%d bytes: a window of %d at %d", total, w.Bytes, w.Sink)
			}
		}
	}
}
