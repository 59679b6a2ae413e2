package transfer

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("transfer/copy", fixtures.OrderedPairs, Label("data", "gate"),
	"copies of odd sizes and alignments are right, and change nothing beside them", func(p *fixtures.Pair) {
		total := p.CopyBytes()
		By("copying odd sizes from " + p.From.String() + " to " + p.To.String())
		fixtures.Judge(p.CopyWindows(0xc0b1, oddWindows(total)))
		By("copying the whole buffer")
		fixtures.Judge(p.CopyWindows(0xc0b2, []fixtures.CopyWindow{{Bytes: total}}))
	})

// oddWindows are copies of sizes around powers of two, at offsets of every
// alignment below 16, disjoint in a sink of so many bytes (at least 1 MiB).
func oddWindows(total uint64) []fixtures.CopyWindow {
	var windows []fixtures.CopyWindow
	at, align := uint64(128), uint64(0)
	for size := uint64(1); size <= total/8; size *= 4 {
		for _, bytes := range []uint64{size - 1, size, size + 1} {
			if bytes == 0 {
				continue
			}
			w := fixtures.CopyWindow{Source: (align * 7) % 16, Sink: at + align%16, Bytes: bytes}
			if w.Sink+w.Bytes+128 > total {
				return windows
			}
			windows = append(windows, w)
			at = (w.Sink + w.Bytes + 128 + 15) &^ 15
			align++
		}
	}
	return windows
}
