package health

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("health/xid", fixtures.GPUs, Label("gate"),
	"the driver reported no hardware error of the GPU during the run", func(g *fixtures.GPU) {
		seen := judgeXids(g.Xids())
		g.Record("hardware Xids", float64(len(seen.hardware)), "kinds")
		if seen.application > 0 {
			g.Record("Xids of applications", float64(seen.application), "Xids")
		}
		if seen.nonfatal > 0 {
			g.Record("NVLink Xids that were not fatal", float64(seen.nonfatal), "Xids")
		}
		for _, n := range seen.notes {
			By(n)
		}
		events, log := g.XidSources()
		switch {
		case len(seen.hardware) > 0:
			fixtures.FailWithHint("xid", xidHint(seen.codes), "%s: %s", g, strings.Join(seen.hardware, "; "))
		case len(seen.unknown) > 0:
			fixtures.Error("xid-severity-unknown", "%s: %s; whether it was fatal stands in the kernel log alone (%s)", g, strings.Join(seen.unknown, "; "), readable(log))
		case events != "" && log != "":
			fixtures.Skip("no-xid-source", "neither NVML's events of %s (%s) nor the kernel log (%s) could be watched", g, events, log)
		}
	}, fixtures.Needs(fixtures.NVML), fixtures.OfXids)

func readable(log string) string {
	if log == "" {
		return "which had no line that says so"
	}
	return log
}

// applicationXids are those that a program provokes, by NVIDIA's catalogue:
// 13 and 31 a fault of a kernel, 43 and 45 the end of a channel after one.
var applicationXids = []int{13, 31, 43, 45}

// The Xids of NVLink 5 whose severity stands in their text.
const firstNVLinkXid, lastNVLinkXid = 144, 150

// xids are those of one GPU, by what they mean.
type xids struct {
	hardware, unknown     []string // each a sentence
	codes                 []int    // of hardware, each once
	application, nonfatal int      // how many
	notes                 []string // what is recorded of them
}

// judgeXids tells Xids that mean hardware from those that a program provokes.
// Both sources may have told of the same one.
func judgeXids(all []fixtures.Xid) (found xids) {
	for _, code := range codesOf(all) {
		ours := slices.DeleteFunc(slices.Clone(all), func(x fixtures.Xid) bool { return x.Code != code })
		texts := slices.DeleteFunc(slices.Clone(ours), func(x fixtures.Xid) bool { return x.Source != fixtures.FromKernelLog })
		count := max(len(texts), len(ours)-len(texts))
		sentence := describe(code, count, ours)
		switch {
		case slices.Contains(applicationXids, code):
			found.application += count
			found.notes = append(found.notes, "recorded: "+sentence)
		case code < firstNVLinkXid || code > lastNVLinkXid:
			found.hardware = append(found.hardware, sentence)
			found.codes = append(found.codes, code)
		default:
			found.nvlink(code, count, texts, sentence)
		}
	}
	return found
}

// nvlink judges the Xids of one NVLink code by their texts.
func (found *xids) nvlink(code, count int, texts []fixtures.Xid, sentence string) {
	nonfatal := 0
	for _, x := range texts {
		switch severity(x.Text) {
		case "fatal":
			found.hardware = append(found.hardware, sentence)
			found.codes = append(found.codes, code)
			return
		case "nonfatal":
			nonfatal++
		}
	}
	// Where the log was read, a line that it lost is no more than one of many
	// that came at once.
	if nonfatal == 0 || nonfatal < len(texts) {
		found.unknown = append(found.unknown, sentence)
		return
	}
	found.nonfatal += count
	found.notes = append(found.notes, "recorded: "+sentence)
}

// severity is what the driver's text for an NVLink error says of it.
func severity(text string) string {
	text = strings.ToLower(text)
	for _, non := range []string{"nonfatal", "non-fatal", "non fatal", "non_fatal"} {
		if strings.Contains(text, non) {
			return "nonfatal"
		}
	}
	if strings.Contains(text, "fatal") {
		return "fatal"
	}
	return ""
}

func codesOf(all []fixtures.Xid) []int {
	var codes []int
	for _, x := range all {
		codes = append(codes, x.Code)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// describe is "Xid 79 during bandwidth/read-ce[gpu1->gpu0]: GPU has fallen off the bus".
func describe(code, count int, ours []fixtures.Xid) string {
	sentence := fmt.Sprintf("Xid %d", code)
	if count > 1 {
		sentence = fmt.Sprintf("%d times Xid %d", count, code)
	}
	var specs []string
	text, provoked := "", true
	for _, x := range ours {
		for _, s := range x.Specs {
			if !slices.Contains(specs, s) {
				specs = append(specs, s)
			}
		}
		provoked = provoked && x.Provoked
		if text == "" {
			text = x.Text
		}
	}
	switch {
	case len(specs) == 0:
		sentence += " between specs"
	case len(specs) > 3:
		sentence += fmt.Sprintf(" during %s and %d more", strings.Join(specs[:3], ", "), len(specs)-3)
	default:
		sentence += " during " + strings.Join(specs, ", ")
	}
	if provoked && len(specs) > 0 {
		sentence += ", which provoke faults on purpose"
	}
	if text != "" {
		sentence += ": " + strings.TrimSuffix(text, ".")
	}
	return sentence
}

// xidHint is what to do next, by NVIDIA's Xid catalogue.
func xidHint(codes []int) string {
	for _, h := range []struct {
		codes []int
		hint  string
	}{
		{[]int{79}, "the GPU fell off the PCIe bus: power-cycle the server; if it comes back, reseat the GPU and check its power cables"},
		{[]int{48, 63, 64, 92, 94, 95}, "an error of the GPU's memory: see memory/ecc and memory/remapped-rows, reset the GPU and run again"},
		{[]int{74, 144, 145, 146, 147, 148, 149, 150}, "an error of an NVLink: see link/nvlink-active and link/nvlink-errors, and which link the text names; reseat the board or bridge"},
		{[]int{62, 119, 120}, "the GPU's own firmware stopped: update the driver, reset the GPU, and report it to NVIDIA with nvidia-bug-report.sh"},
		{[]int{54, 110}, "a power cable or the board's supply: check its connectors"},
		{[]int{154}, "the driver asks for a recovery: see health/recovery-action"},
	} {
		if slices.ContainsFunc(codes, func(c int) bool { return slices.Contains(h.codes, c) }) {
			return h.hint
		}
	}
	return "look the number up in NVIDIA's Xid catalogue, reset the GPU and run again"
}
