package terminal

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/internal/sample"
	"github.com/peerproof/peerproof/runner/journal"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// clean says what is wrong with output for a person: control characters other
// than the display's own, lines wider than the terminal.
func clean(t interface{ Errorf(string, ...any) }, got string, width int, own ...string) {
	for _, sequence := range own {
		got = strings.ReplaceAll(got, sequence, "\n")
	}
	for line := range strings.Lines(got) {
		line = strings.TrimSuffix(line, "\n")
		if strings.ContainsFunc(line, unicode.IsControl) || !utf8.ValidString(line) || strings.ContainsRune(line, '\u202e') {
			t.Errorf("control characters reach the terminal: %q", line)
		}
		if n := utf8.RuneCountInString(line); n > width {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

// show plays a journal at its own pace and returns what is shown.
func show(events []journal.Event, o Options) string {
	var out bytes.Buffer
	now := sample.Start
	p := newProgress(&out, o, func() time.Time { return now })
	for _, e := range events {
		now = e.Time
		p.Event(e)
		p.refresh()
	}
	close(p.ended) // nothing ticks
	p.Close()
	return out.String()
}

func TestProgress(t *testing.T) {
	events := sample.Broken().Events()
	for name, o := range map[string]Options{
		"log.txt":     {},
		"verbose.txt": {Level: Verbose},
		"tty.txt":     {TTY: true},
		"narrow.txt":  {Width: 40},
	} {
		got := show(events, o)
		clean(t, got, o.width(), "\r\x1b[K")
		golden(t, name, strings.ReplaceAll(got, "\r\x1b[K", "<redrawn>\n"))
	}
	if got := show(events, Options{Level: Quiet}); got != "" {
		t.Errorf("quiet shows %q", got)
	}
}

func TestStatusLineFollowsASlowSpec(t *testing.T) {
	j := new(sample.Journal).Add(journal.Event{Type: journal.TypeRun, Run: sample.Run()})
	j.Check("dereference/read", "x", nil, "gpu0->gpu1", "gpu1->gpu0")
	j.Spec("dereference/read[gpu0->gpu1]", nil)
	var out bytes.Buffer
	now := sample.Start
	p := newProgress(&out, Options{TTY: true, Width: 100}, func() time.Time { return now })
	for _, e := range j.Events() {
		p.Event(e)
	}
	now = now.Add(75 * time.Second)
	p.refresh()
	const want = "[........] 0/2  1:15  dereference/read[gpu0->gpu1]: copying 64 MiB repeatedly (75 s)"
	if p.status != want {
		t.Errorf("status line %q, want %q", p.status, want)
	}
	// Without a terminal the log must show life too, and not more often than needed.
	out.Reset()
	p.o.TTY, p.status, p.printed = false, "", now
	for range 60 {
		now = now.Add(time.Second)
		p.refresh()
	}
	if n := strings.Count(out.String(), "dereference/read[gpu0->gpu1]"); n != 6 {
		t.Errorf("%d lines in a minute:\n%s", n, out.String())
	}
}

func TestFailuresAlikeAreCounted(t *testing.T) {
	j := new(sample.Journal).Add(journal.Event{Type: journal.TypeRun, Run: sample.Run()})
	var subjects []string
	for range 300 {
		subjects = append(subjects, "gpu"+itoa(len(subjects)))
	}
	j.Check("memory/patterns", "x", nil, subjects...)
	j.Check("health/xid", "x", nil, subjects...)
	for _, s := range subjects {
		j.Settled("memory/patterns["+s+"]", verdict.Errorf(verdict.BlockedBy, "blocked"))
		j.Settled("health/xid["+s+"]", verdict.Failf("xid", "Xid 79"))
	}
	got := show(j.Events(), Options{})
	if n := strings.Count(got, "\n"); n > 20 {
		t.Errorf("%d lines for 600 failures of two kinds:\n%s", n, got)
	}
	r, err := report.Build(strings.NewReader(j.Finish("done", 1).String()))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Summary(&out, r, nil, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "and 299 more: gpu1, gpu2") != 1 || !strings.Contains(got, "blocked-by, 300 specs: memory/patterns (blocked)") || strings.Count(got, "\n") > 25 {
		t.Errorf("summary of 600 failures of two kinds:\n%s", got)
	}
	if fail, blocked := strings.Index(out.String(), "health/xid"), strings.Index(out.String(), "memory/patterns"); fail > blocked {
		t.Error("what follows from other failures stands before them")
	}
}

func TestReplay(t *testing.T) {
	j := new(sample.Journal).Add(journal.Event{Type: journal.TypeRun, Run: sample.Run()})
	j.Check("dereference/read", "x", nil, "gpu0->gpu1", "gpu1->gpu0")
	j.Spec("dereference/read[gpu0->gpu1]", sample.Pass)
	j.Settled("dereference/read[gpu1->gpu0]", verdict.Errorf(verdict.NotRun, "interrupted"))
	var out bytes.Buffer
	p := newProgress(&out, Options{}, time.Now)
	for _, e := range j.Events() {
		p.Replay(e)
	}
	if out.Len() > 0 {
		t.Errorf("old events are shown: %q", out.String())
	}
	p.Event(journal.Event{Type: journal.TypeResume})
	if got := out.String(); got != "resumed: 1 of 2 specs have a verdict\n" {
		t.Errorf("got %q", got)
	}
	p.Event(journal.Event{Type: journal.TypeEnd, Spec: "dereference/read[gpu1->gpu0]", Outcome: sample.Pass})
	if p.counts != (report.Counts{Pass: 2}) {
		t.Errorf("counts %+v", p.counts)
	}
}

func TestProgressIsSafeForSeveralGoroutines(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&out, Options{TTY: true})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for _, e := range sample.Broken().Events() {
				p.Event(e)
			}
		})
	}
	all.Wait()
	p.Close()
	p.Close()
	if !strings.HasSuffix(out.String(), "\n") && !strings.HasSuffix(out.String(), "\r\x1b[K") {
		t.Errorf("the status line stays: %q", out.String()[max(0, out.Len()-80):])
	}
}

func TestSummary(t *testing.T) {
	r, err := report.Build(strings.NewReader(sample.Broken().String()))
	if err != nil {
		t.Fatal(err)
	}
	files := []string{"out/results.json", "out/junit.xml", "out/journal.jsonl"}
	for name, o := range map[string]Options{"summary.txt": {}, "summary-narrow.txt": {Width: 40}} {
		var out bytes.Buffer
		if err := Summary(&out, r, files, o); err != nil {
			t.Fatal(err)
		}
		clean(t, out.String(), o.width())
		golden(t, name, out.String())
	}
	var plain, coloured bytes.Buffer
	Summary(&plain, r, files, Options{})
	Summary(&coloured, r, files, Options{Color: true})
	got := coloured.String()
	for _, sequence := range []string{"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1m", "\x1b[0m"} {
		got = strings.ReplaceAll(got, sequence, "")
	}
	if got != plain.String() {
		t.Error("colours change more than colours")
	}
}

// Runs of one spec are counted once, and told of.
func TestAttempts(t *testing.T) {
	j := new(sample.Journal).Add(journal.Event{Type: journal.TypeRun, Run: sample.Run()})
	j.Check("memory/march", "x", nil, "gpu0", "gpu1")
	fail := verdict.Failf("data-mismatch", "bit 3")
	j.Spec("memory/march[gpu0]", &fail).Spec("memory/march[gpu1]", &fail)
	stopped := verdict.Errorf(verdict.NotRun, "interrupted")
	for n, o := range []*verdict.Outcome{&fail, sample.Pass} {
		for _, id := range []string{"memory/march[gpu0]", "memory/march[gpu1]"} {
			j.Add(journal.Event{Type: journal.TypeStart, Spec: id, Attempt: n + 2})
			j.Add(journal.Event{Type: journal.TypeEnd, Spec: id, Outcome: o, Attempt: n + 2})
		}
	}
	j.Add(journal.Event{Type: journal.TypeEnd, Spec: "memory/march[gpu0]", Outcome: &stopped, Attempt: 4})
	got := show(j.Events(), Options{})
	if strings.Count(got, "FAIL") != 4 || !strings.Contains(got, "FAIL   memory/march[gpu0] run 2 data-mismatch: bit 3\n") || strings.Contains(got, "not-run") {
		t.Errorf("got\n%s", got)
	}
	if !strings.Contains(got, "2/2  memory/march") || strings.Contains(got, "3/2") {
		t.Errorf("runs are counted as specs:\n%s", got)
	}
	if got := show(j.Events(), Options{Level: Verbose}); !strings.Contains(got, "PASS   memory/march[gpu1] run 3\n") {
		t.Errorf("verbose shows\n%s", got)
	}
	r, err := report.Build(strings.NewReader(j.Finish("done", 1).String()))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Summary(&out, r, nil, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"failed 2 of 3 runs: bit 3\n", "and 1 more: gpu1 (2 of 3 runs)\n", "2 specs in "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// Each waiver has a line with what it excuses.
func TestSummaryOfWaivers(t *testing.T) {
	cable := &report.Waiver{Spec: "link/*", Reason: "cable on order", Owner: "ops", Expires: "2027-01-31"}
	known := &report.Waiver{Spec: "bandwidth/*", Reason: "known", Owner: "the lab", Expires: "2027-02-28"}
	spec := func(id, code string, w *report.Waiver) report.Spec {
		return report.Spec{ID: id, Verdict: verdict.Waived, Code: code, Message: "no", Waiver: w}
	}
	r := &report.Results{Verdict: verdict.Pass, Specs: []report.Spec{
		spec("link/nvlink-active[gpu0]", "links-down", cable), spec("link/nvlink-active[gpu1]", "links-down", cable),
		spec("link/pcie-loaded[gpu0]", "pcie-downgraded", cable), spec("link/pcie-loaded[gpu1]", "pcie-downgraded", known),
	}}
	r.Counts.Waived = 4
	var out bytes.Buffer
	if err := Summary(&out, r, nil, Options{Width: 120}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"WAIVED links-down, 2 specs: link/nvlink-active (until 2027-01-31, ops: cable on order)\n",
		"WAIVED pcie-downgraded, 1 spec: link/pcie-loaded (until 2027-01-31, ops: cable on order)\n",
		"WAIVED pcie-downgraded, 1 spec: link/pcie-loaded (until 2027-02-28, the lab: known)\n",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no line %s in\n%s", line, out.String())
		}
	}
}

func TestSummaryOfAPartialRun(t *testing.T) {
	r := &report.Results{Run: report.Run{Keyword: "access", Simulated: true}, Verdict: verdict.Pass}
	r.Counts.Pass = 56
	var out bytes.Buffer
	if err := Summary(&out, r, nil, Options{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if got, want := lines[len(lines)-2], `PARTIAL: only -k "access", 56 specs`; got != want {
		t.Errorf("above the verdict: %q, want %q", got, want)
	}
	if last := lines[len(lines)-1]; !strings.Contains(last, " PASS, PARTIAL, SIMULATED: no real GPU was tested ") {
		t.Errorf("the verdict: %q", last)
	}
}

func TestSummaryOfADamagedJournal(t *testing.T) {
	text := sample.Broken().String()
	lines := strings.SplitAfter(text, "\n")
	r, err := report.Build(strings.NewReader(strings.Join(append(lines[:14:14], lines[15:30]...), "")))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Summary(&out, r, nil, Options{}); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "WARNING:") != 2 || !strings.Contains(out.String(), "HASH CHAIN IS BROKEN") {
		t.Errorf("got\n%s", out.String())
	}
	clean(t, out.String(), 80)
}

func TestSummaryOfHostileText(t *testing.T) {
	text := rapid.Map(rapid.SliceOf(rapid.OneOf(rapid.SampledFrom([]string{
		"\x1b[2J", "\x1b]0;title\a", "\u009b1A", "\u202e", "\xff", "\r", "\n", "\t", strings.Repeat("x", 3000), strings.Repeat("word ", 500),
	}), rapid.String())), func(all []string) string { return strings.Join(all, "") })
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) string { return text.Draw(rt, name) }
		v := rapid.SampledFrom([]verdict.Verdict{verdict.Fail, verdict.Error, verdict.Skip, verdict.Waived}).Draw(rt, "verdict")
		o := Options{Width: rapid.IntRange(40, 200).Draw(rt, "width")}
		r := &report.Results{
			Warnings: []string{draw("warning")}, Verdict: v,
			GPUs: []report.GPU{{Slot: "gpu0", BusID: draw("bus")}},
			Specs: []report.Spec{{
				ID: "a/b[gpu0]", Verdict: v, Code: draw("code"), Message: draw("message"), Hint: draw("hint"), Path: draw("path"),
				Subject: &report.Subject{GPU: "gpu0"}, Duration: 1,
				Measurements: []verdict.Measurement{{Name: draw("name"), Unit: draw("unit"), Value: 1}},
			}},
		}
		if v == verdict.Waived {
			r.Specs[0].Waiver = &report.Waiver{Spec: draw("pattern"), Reason: draw("reason"), Owner: draw("owner"), Expires: draw("expires")}
		}
		r.Run.Keyword, r.Run.Labels, r.Run.Preset = draw("keyword"), draw("labels"), draw("preset")
		r.Counts.Add(v)
		r.Specs = append(r.Specs, report.Spec{
			ID: "bandwidth/write-ce[x]", Path: draw("class"), Subject: &report.Subject{From: draw("from"), To: draw("to")},
			Measurements: []verdict.Measurement{{Name: "bandwidth", Unit: "GB/s", Value: rapid.Float64().Draw(rt, "figure")}},
		})
		o.List, o.Durations = []verdict.Verdict{v, verdict.Pass}, rapid.IntRange(-1, 3).Draw(rt, "durations")
		var out bytes.Buffer
		if err := Summary(&out, r, []string{draw("file")}, o); err != nil {
			rt.Fatal(err)
		}
		clean(rt, out.String(), o.Width)
		j := new(sample.Journal)
		run := sample.Run()
		run.Tool, run.Node = draw("tool"), draw("node")
		j.Add(journal.Event{Type: journal.TypeRun, Run: run})
		n := sample.Node(1)
		n.GPUs[0].Model, n.Driver.NVML = draw("model"), draw("driver")
		j.Add(journal.Event{Type: journal.TypeNode, Node: n})
		j.Check("a/b", draw("requirement"), nil, "gpu0")
		j.Add(journal.Event{Type: journal.TypeStart, Spec: "a/b[gpu0]"})
		j.Add(journal.Event{Type: journal.TypeStep, Spec: "a/b[gpu0]", Text: draw("step")})
		j.Add(journal.Event{Type: journal.TypeNote, Text: draw("note")})
		j.Add(journal.Event{Type: journal.TypeEnd, Spec: "a/b[gpu0]", Outcome: &verdict.Outcome{Verdict: v, Code: draw("code"), Message: draw("message")}})
		o.TTY = true
		clean(rt, show(j.Events(), o), o.Width, "\r\x1b[K")
	})
}
