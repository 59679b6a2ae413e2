package memory

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("memory/remapped-rows", fixtures.GPUs, Label("gate", "health"),
	"no remap of a memory row is pending or failed", func(g *fixtures.GPU) {
		rows, supported := g.RemappedRows()
		if !supported {
			fixtures.Skip("not-supported", "%s remaps no rows, or this driver does not tell", g)
		}
		g.Record("rows remapped for corrected errors", float64(rows.Corrected), "rows")
		g.Record("rows remapped for uncorrected errors", float64(rows.Uncorrected), "rows")
		if code, message, hint := judgeRows(rows); code != "" {
			fixtures.FailWithHint(code, hint, "%s: %s", g, message)
		}
	}, fixtures.Needs(fixtures.NVML))

// judgeRows takes NVML's answer. Completed remaps are what the spares are for.
func judgeRows(r fixtures.Remapped) (code, message, hint string) {
	done := fmt.Sprintf("%d row(s) are remapped", r.Corrected+r.Uncorrected)
	switch {
	case r.Failed:
		return "remap-failed", "a memory row could not be remapped, no spare is left; " + done,
			"RMA: the GPU meets NVIDIA's condition for a replacement; attach this run's evidence"
	case r.Pending:
		return "remap-pending", "a memory row waits to be remapped; " + done,
			"reset the GPU (nvidia-smi --gpu-reset, or reboot) and retest: the remap takes effect then"
	}
	return "", "", ""
}
