package memory

import (
	"fmt"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("memory/ecc", fixtures.GPUs, Label("gate", "health"),
	"ECC is on, without uncorrected errors, and with few corrected ones under load", func(g *fixtures.GPU) {
		want := g.Profile().ExpectedModes().ECC
		By("counting memory errors of " + g.String() + " before, under and after copies within it")
		e := g.ECC()
		for _, name := range slices.Sorted(maps.Keys(e.Aggregate)) {
			g.Record("ECC "+name, float64(e.Aggregate[name]), "errors")
		}
		if e.Counted {
			g.Record("ECC volatile uncorrected", float64(e.Uncorrected), "errors")
			g.Record("ECC corrected under load", float64(e.Corrected[2]-min(e.Corrected[0], e.Corrected[2])), "errors")
			g.Record("traffic of that load", e.GiB, "GiB")
		}
		switch code, message := judgeECC(e, want, g.Profile().CorrectedPerGiB()); code {
		case "":
		case "no-ecc":
			fixtures.Skip(code, "%s: %s", g, message)
		default:
			fixtures.FailWithHint(code, eccHints[code], "%s: %s", g, message)
		}
	}, fixtures.Needs(fixtures.NVML), fixtures.AtTheEnd)

var eccHints = map[string]string{
	"ecc-off":         "nvidia-smi -e 1 turns it on with the next reset; without it a flipped bit is a wrong result that nobody notices",
	"ecc-uncorrected": "see memory/remapped-rows and Xid 48, 63, 64, 94 and 95 in the kernel log; reset the GPU and run again: errors that come back are a reason for an RMA",
	"ecc-rate":        "a row or a stack of the memory is failing: see memory/remapped-rows, reset the GPU, and watch whether the rate comes back",
}

// judgeECC takes what NVML counts. want is the mode that the profile says; ""
// leaves it to what the product ships with. most is how many corrected errors
// a GiB of traffic may have.
func judgeECC(e fixtures.ECC, want string, most float64) (code, message string) {
	if want == "" {
		want = e.Default
	}
	corrected := e.Corrected[2] - min(e.Corrected[0], e.Corrected[2])
	switch {
	case e.Mode != "on" && want == "on":
		return "ecc-off", "ECC is off, and profile or product have it on"
	case e.Mode != "on":
		return "no-ecc", "there is no ECC that counts: the product has none, or ships with it off"
	case !e.Counted:
		return "no-ecc", "NVML counts no memory errors of this product"
	case e.UncorrectedRise > 0:
		return "ecc-uncorrected", fmt.Sprintf("%d uncorrected memory errors during the run, %d since the driver was loaded", e.UncorrectedRise, e.Uncorrected)
	case e.Uncorrected > 0:
		return "ecc-uncorrected", fmt.Sprintf("%d uncorrected memory errors since the driver was loaded", e.Uncorrected)
	case e.GiB > 0 && float64(corrected) > most*e.GiB:
		return "ecc-rate", fmt.Sprintf("%d corrected memory errors in %.0f GiB of traffic (%d before, %d under, %d after), %.3g a GiB are allowed",
			corrected, e.GiB, e.Corrected[0], e.Corrected[1], e.Corrected[2], most)
	}
	return "", ""
}
