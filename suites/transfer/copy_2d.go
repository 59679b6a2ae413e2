package transfer

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("transfer/copy-2d", fixtures.OrderedPairs, Label("data"),
	"copies of rows are right, and change nothing between them", func(p *fixtures.Pair) {
		for _, rows := range oddRows {
			By("copying rows from " + p.From.String() + " to " + p.To.String())
			fixtures.Judge(p.CopyRows(0x2d, rows))
		}
	})

// oddRows are narrow and wide rows, with pitches that are no multiple of each
// other, within 1 MiB at each end.
var oddRows = []fixtures.CopyRows{
	{Width: 1, Height: 17, SourcePitch: 3, SinkPitch: 64},
	{Width: 255, Height: 33, SourcePitch: 1024, SinkPitch: 257, SourceOffset: 1, SinkOffset: 3},
	{Width: 4096, Height: 16, SourcePitch: 4096, SinkPitch: 8192, SinkOffset: 512},
	{Width: 65537, Height: 8, SourcePitch: 65792, SinkPitch: 98304, SourceOffset: 7},
}
