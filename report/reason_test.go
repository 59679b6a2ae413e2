package report_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/internal/sample"
)

func TestReason(t *testing.T) {
	gpus := []report.GPU{
		{Slot: "gpu0", Serial: "1650000", BusID: "0000:18:00.0"},
		{Slot: "gpu1", Serial: "1650001", BusID: "0000:19:00.0"},
		{Slot: "gpu2", BusID: "0000:1a:00.0"},
		{Slot: "gpu3"},
	}
	one := func(slot string) *report.Subject { return &report.Subject{GPU: slot} }
	pair := func(from, to string) *report.Subject { return &report.Subject{From: from, To: to} }
	count := report.Spec{ID: "inventory/gpu-count", Verdict: verdict.Skip, Code: "no-gpu"}
	pass := report.Spec{ID: "inventory/model[gpu0]", Verdict: verdict.Pass, Subject: one("gpu0")}
	blocked := report.Spec{ID: "transfer/copy[gpu0->gpu1]", Verdict: verdict.Error, Code: verdict.BlockedBy, Subject: pair("gpu0", "gpu1")}
	links := report.Spec{ID: "link/nvlink-active[gpu1]", Verdict: verdict.Fail, Code: "links-down", Subject: one("gpu1")}
	hang := report.Spec{ID: "dereference/read[gpu0->gpu1]", Verdict: verdict.Error, Code: verdict.Hang, Subject: pair("gpu0", "gpu1")}
	waived := report.Spec{ID: "link/pcie-width[gpu1]", Verdict: verdict.Waived, Code: "pcie-width", Subject: one("gpu1")}
	missing := report.Spec{ID: "inventory/gpu-count", Verdict: verdict.Fail, Code: "missing-gpu"}
	for _, c := range []struct {
		name  string
		run   report.Run
		specs []report.Spec
		want  string
	}{
		{"one GPU", report.Run{}, []report.Spec{count, pass, links}, "fail links-down link/nvlink-active[gpu1] serial 1650001"},
		{"a fail before an error", report.Run{}, []report.Spec{hang, links}, "fail links-down link/nvlink-active[gpu1] serial 1650001, 1 more"},
		{"a pair", report.Run{}, []report.Spec{hang}, "error hang dereference/read[gpu0->gpu1] serial 1650000 serial 1650001"},
		{"causes before what follows, which is not counted", report.Run{}, []report.Spec{blocked, hang, blocked}, "error hang dereference/read[gpu0->gpu1] serial 1650000 serial 1650001"},
		{"only what follows", report.Run{}, []report.Spec{pass, blocked, blocked}, "error blocked-by transfer/copy[gpu0->gpu1] serial 1650000 serial 1650001"},
		{"the whole node", report.Run{Serial: "SN0042"}, []report.Spec{missing}, "fail missing-gpu inventory/gpu-count server SN0042"},
		{"the whole node, of no serial", report.Run{}, []report.Spec{missing}, "fail missing-gpu inventory/gpu-count"},
		{
			"a GPU without a serial, its own peer",
			report.Run{Loopback: true},
			[]report.Spec{{ID: "transfer/copy[gpu2->gpu2]", Verdict: verdict.Fail, Code: "data-mismatch", Subject: pair("gpu2", "gpu2")}},
			"LOOPBACK fail data-mismatch transfer/copy[gpu2->gpu2] at 0000:1a:00.0",
		},
		{
			"a GPU of which nothing is known",
			report.Run{},
			[]report.Spec{{ID: "inventory/context[gpu3]", Verdict: verdict.Error, Code: "context-failed", Subject: one("gpu3")}},
			"error context-failed inventory/context[gpu3]",
		},
		{"simulated", report.Run{Simulated: true}, []report.Spec{links, links, links}, "SIMULATED fail links-down link/nvlink-active[gpu1] serial 1650001, 2 more"},
		{"pass", report.Run{}, []report.Spec{count, pass, pass}, "pass, 2 of 3 specs passed"},
		{"waived is no cause", report.Run{Simulated: true}, []report.Spec{waived, pass}, "SIMULATED pass, 1 of 2 specs passed, 1 waived"},
		{"nothing was tested", report.Run{}, []report.Spec{count, count}, "skip no-gpu inventory/gpu-count"},
		{"nothing was selected", report.Run{}, nil, "skip, 0 of 0 specs passed"},
		{
			"what does not fit is left out whole",
			report.Run{},
			[]report.Spec{{
				ID: "area/" + strings.Repeat("x", 80) + "[gpu0->gpu1]", Verdict: verdict.Fail, Code: "slow", Subject: pair("gpu0", "gpu1"),
			}, links},
			"fail slow area/" + strings.Repeat("x", 80) + "[gpu0->gpu1], 1 more",
		},
		{
			"an id that does not fit",
			report.Run{},
			[]report.Spec{{ID: strings.Repeat("é", 200), Verdict: verdict.Fail, Code: "c"}},
			"fail c " + strings.Repeat("é", 55) + "…",
		},
	} {
		r := report.Results{Run: c.run, GPUs: gpus, Specs: c.specs}
		for i := range c.specs {
			r.Counts.Add(c.specs[i].Verdict)
		}
		r.Verdict = r.Counts.Verdict()
		if got := report.Reason(&r); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// The line of a whole journal, and of one that was cut off before anything
// was decided.
func TestReasonOfAJournal(t *testing.T) {
	const want = "SIMULATED fail wrong-model inventory/model[gpu2] serial 1650002, 6 more"
	whole := sample.Broken().String()
	if got := report.Reason(build(t, whole)); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	cut := whole[:strings.Index(whole, `"type":"start"`)]
	if got := report.Reason(build(t, cut[:strings.LastIndexByte(cut, '\n')+1])); !strings.HasPrefix(got, "SIMULATED error not-run inventory/model[gpu0]") {
		t.Errorf("cut off: %s", got)
	}
}

// Whatever a driver answers, the line is one line of printable text.
func TestReasonIsOneLine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := func(name string) string { return string(rapid.SliceOf(rapid.Byte()).Draw(rt, name)) }
		r := report.Results{
			Run:   report.Run{Serial: text("server")},
			GPUs:  []report.GPU{{Slot: "gpu0", Serial: text("serial") + "\x1b[31m\u202e\n", BusID: text("bus id")}},
			Specs: []report.Spec{{ID: text("id"), Code: text("code"), Verdict: verdict.Fail, Subject: &report.Subject{GPU: "gpu0"}}},
		}
		line := report.Reason(&r)
		if line == "" || len(line) > report.MaxReason || !utf8.ValidString(line) ||
			strings.ContainsFunc(line, func(c rune) bool { return unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) }) {
			rt.Fatalf("%q", line)
		}
	})
}
