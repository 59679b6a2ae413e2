package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/diff"
	"github.com/peerproof/peerproof/report/internal/sample"
)

func compared(t *testing.T) *diff.Diff {
	t.Helper()
	var results [2]*report.Results
	before, after := sample.Pair()
	for i, j := range []*sample.Journal{before, after} {
		r, err := report.Build(strings.NewReader(j.String()))
		if err != nil {
			t.Fatal(err)
		}
		results[i] = r
	}
	return diff.Compare(results[0], results[1])
}

func TestDiff(t *testing.T) {
	d := compared(t)
	for name, o := range map[string]Options{"diff.txt": {}, "diff-narrow.txt": {Width: 40}} {
		var out bytes.Buffer
		if err := Diff(&out, d, o); err != nil {
			t.Fatal(err)
		}
		clean(t, out.String(), o.width())
		golden(t, name, out.String())
	}
	var plain, coloured bytes.Buffer
	Diff(&plain, d, Options{})
	Diff(&coloured, d, Options{Color: true})
	got := coloured.String()
	for _, sequence := range []string{"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1m", "\x1b[0m"} {
		got = strings.ReplaceAll(got, sequence, "")
	}
	if got != plain.String() || got == coloured.String() {
		t.Error("colours change more than colours, or nothing")
	}
}

// A node on which everything changed still fits a screen or two.
func TestDiffOfManyIsShort(t *testing.T) {
	before, after := &report.Results{}, &report.Results{}
	for i := range 500 {
		figure := func(v float64) []verdict.Measurement {
			return []verdict.Measurement{{Name: "bandwidth", Unit: "GB/s", Value: v, Samples: []float64{v, v, v}}}
		}
		id := fmt.Sprintf("bandwidth/write-ce[gpu%d]", i)
		before.Specs = append(before.Specs, report.Spec{ID: id, Verdict: verdict.Pass, Measurements: figure(54)}, report.Spec{ID: fmt.Sprintf("memory/old[gpu%d]", i)})
		after.Specs = append(after.Specs, report.Spec{ID: id, Verdict: verdict.Fail, Code: "below-floor", Message: "slow", Measurements: figure(30)})
	}
	var out bytes.Buffer
	if err := Diff(&out, diff.Compare(before, after), Options{}); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	if n := strings.Count(got, "\n"); n > 40 {
		t.Errorf("%d lines:\n%s", n, got)
	}
	for _, want := range []string{"and 499 more: gpu1, gpu2", "and 492 more of bandwidth/write-ce, by 44.4% and less", "500 specs only in the earlier run: memory/old (500)"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestDiffOfHostileText(t *testing.T) {
	text := rapid.Map(rapid.SliceOf(rapid.OneOf(rapid.SampledFrom([]string{
		"\x1b[2J", "\x1b]0;title\a", "\u009b1A", "\u202e", "\xff", "\r", "\n", "\t", "[", strings.Repeat("x", 3000), strings.Repeat("word ", 500),
	}), rapid.String())), func(all []string) string { return strings.Join(all, "") })
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) string { return text.Draw(rt, name) }
		outcome := diff.Outcome{Verdict: verdict.Verdict(draw("verdict")), Code: draw("code")}
		specs := []diff.Spec{{ID: draw("id"), Before: outcome, After: diff.Outcome{Verdict: verdict.Fail, Code: draw("code")}, Message: draw("message")}}
		side := diff.Side{Run: draw("run"), Tool: draw("tool"), Host: draw("host"), Marks: draw("marks"), Profile: draw("profile"), Preset: draw("preset"), Verdict: verdict.Verdict(draw("verdict")), Warnings: []string{draw("warning")}}
		d := &diff.Diff{
			Before: side, After: side, New: specs, Lost: specs, Changed: specs, Still: specs, Waived: specs, Fixed: specs, Gained: specs,
			Figures:    []diff.Figure{{ID: draw("id"), Name: draw("name"), Unit: draw("unit"), Worse: true}, {ID: draw("id"), Name: draw("name")}},
			OnlyBefore: []string{draw("id")}, OnlyAfter: []string{draw("id")},
			Changes: []diff.Change{
				{Kind: diff.Kind(draw("kind")), What: draw("what"), Before: draw("before"), After: draw("after"), GPUs: []string{draw("gpu")}, Note: draw("note"), Worse: true},
				{Kind: diff.Kind(draw("kind")), What: draw("what"), Before: draw("before"), Note: draw("note")},
			},
		}
		o := Options{Width: rapid.IntRange(40, 200).Draw(rt, "width")}
		var out bytes.Buffer
		if err := Diff(&out, d, o); err != nil {
			rt.Fatal(err)
		}
		clean(rt, out.String(), o.Width)
	})
}
