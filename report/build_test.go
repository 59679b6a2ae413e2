package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/internal/sample"
	"github.com/peerproof/peerproof/runner/journal"
)

var update = flag.Bool("update", false, "write the golden files")

func build(t *testing.T, text string) *report.Results {
	t.Helper()
	r, err := report.Build(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func spec(t *testing.T, r *report.Results, id string) *report.Spec {
	t.Helper()
	for i := range r.Specs {
		if r.Specs[i].ID == id {
			return &r.Specs[i]
		}
	}
	t.Fatalf("no spec %s", id)
	return nil
}

func TestGolden(t *testing.T) {
	var got bytes.Buffer
	r := build(t, sample.Broken().String())
	if err := report.WriteJSON(&got, r); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "broken.json")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("results.json (-want +got):\n%s", diff)
	}
	// Written piece by piece, it must read as if written at once.
	var back report.Results
	dec := json.NewDecoder(&got)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&back); err != nil {
		t.Fatal(err)
	}
	back.Run.Serial = r.Run.Serial // not part of the file
	without := *r                  // what other documents hold
	without.Node, without.ProfileText, without.NodeText = nil, "", ""
	if diff := cmp.Diff(&without, &back); diff != "" {
		t.Errorf("read back (-written +read):\n%s", diff)
	}
}

func TestNoSpecs(t *testing.T) {
	var got bytes.Buffer
	r := build(t, new(sample.Journal).Add(journal.Event{Type: journal.TypeRun, Run: sample.Run()}).Finish("done", 5).String())
	if err := report.WriteJSON(&got, r); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(got.Bytes()) || !strings.Contains(got.String(), `"specs":[]`) || !strings.Contains(got.String(), `"gpus":[]`) {
		t.Errorf("got %s", got.String())
	}
	if r.Verdict != verdict.Skip || r.Exit != 5 {
		t.Errorf("verdict %s, exit %d", r.Verdict, r.Exit)
	}
}

func TestVerdictOfARun(t *testing.T) {
	for _, c := range []struct {
		name   string
		counts report.Counts
		want   verdict.Verdict
	}{
		{"nothing", report.Counts{}, verdict.Skip},
		{"all skipped", report.Counts{Skip: 3}, verdict.Skip},
		{"one passed", report.Counts{Pass: 1, Skip: 3}, verdict.Pass},
		{"only waived", report.Counts{Waived: 1, Skip: 3}, verdict.Pass},
		{"one erred", report.Counts{Pass: 9, Error: 1, Waived: 1}, verdict.Error},
		{"failed and erred", report.Counts{Pass: 9, Error: 4, Fail: 1}, verdict.Fail},
	} {
		if got := c.counts.Verdict(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A power cut at any byte leaves a report that says so, with every spec of the
// plan in it and none invented.
func TestPowerCut(t *testing.T) {
	whole := sample.Broken().String()
	all := build(t, whole)
	begin := strings.Index(whole, "\n") + 1
	rapid.Check(t, func(rt *rapid.T) {
		cut := rapid.IntRange(begin, len(whole)-1).Draw(rt, "cut")
		r, err := report.Build(strings.NewReader(whole[:cut]))
		if err != nil {
			rt.Fatalf("cut at %d: %v", cut, err)
		}
		if len(r.Warnings) == 0 || r.Exit != 2 {
			rt.Fatalf("cut at %d: exit %d, warnings %q", cut, r.Exit, r.Warnings)
		}
		if r.Counts.Total() != len(r.Specs) {
			rt.Fatalf("cut at %d: counts %+v of %d specs", cut, r.Counts, len(r.Specs))
		}
		for i := range r.Specs {
			got, want := &r.Specs[i], &all.Specs[i]
			if got.ID != want.ID {
				rt.Fatalf("cut at %d: spec %d is %s, want %s", cut, i, got.ID, want.ID)
			}
			if got.Verdict != want.Verdict && got.Code != verdict.NotRun {
				rt.Fatalf("cut at %d: %s is %s %s", cut, got.ID, got.Verdict, got.Code)
			}
		}
	})
}

func TestFigureBeforeACrashIsKept(t *testing.T) {
	j := new(sample.Journal).Add(journal.Event{Type: journal.TypeRun, Run: sample.Run()})
	j.Check("bandwidth/read-ce", "fast", nil, "gpu0->gpu1", "gpu1->gpu0")
	j.Spec("bandwidth/read-ce[gpu0->gpu1]", nil, sample.Bandwidth(50))
	r := build(t, j.String())
	s := spec(t, r, "bandwidth/read-ce[gpu0->gpu1]")
	if s.Verdict != verdict.Error || s.Code != verdict.NotRun || len(s.Measurements) != 1 || s.Started.IsZero() {
		t.Errorf("got %+v", s)
	}
	if s := spec(t, r, "bandwidth/read-ce[gpu1->gpu0]"); s.Code != verdict.NotRun || !s.Started.IsZero() {
		t.Errorf("got %+v", s)
	}
}

func TestResume(t *testing.T) {
	j := new(sample.Journal).Add(journal.Event{Type: journal.TypeRun, Run: sample.Run()})
	j.Check("bandwidth/read-ce", "fast", nil, "gpu0->gpu1", "gpu1->gpu0")
	j.Spec("bandwidth/read-ce[gpu0->gpu1]", sample.Pass, sample.Bandwidth(50))
	j.Spec("bandwidth/read-ce[gpu1->gpu0]", nil, sample.Bandwidth(10))
	j.Settled("bandwidth/read-ce[gpu1->gpu0]", verdict.Errorf(verdict.NotRun, "interrupted"))
	j.Finish("interrupted", 2)
	if r := build(t, j.String()); r.Exit != 2 || r.Counts != (report.Counts{Pass: 1, Error: 1}) {
		t.Errorf("interrupted: exit %d, %+v", r.Exit, r.Counts)
	}
	j.Add(journal.Event{Type: journal.TypeResume})
	if r := build(t, j.String()); len(r.Warnings) != 1 || r.Exit != 2 {
		t.Errorf("resumed and cut off: exit %d, warnings %q", r.Exit, r.Warnings)
	}
	j.Spec("bandwidth/read-ce[gpu1->gpu0]", sample.Pass, sample.Bandwidth(51))
	r := build(t, j.Finish("done", 0).String())
	if r.Exit != 0 || r.Counts != (report.Counts{Pass: 2}) || len(r.Warnings) > 0 {
		t.Errorf("done: exit %d, %+v, %q", r.Exit, r.Counts, r.Warnings)
	}
	if s := spec(t, r, "bandwidth/read-ce[gpu1->gpu0]"); len(s.Measurements) != 1 || s.Measurements[0].Value != 51 {
		t.Errorf("figures of before the resume are mixed in: %+v", s.Measurements)
	}
}

// Whatever line is changed, but the last, the report says so.
func TestChangedLine(t *testing.T) {
	whole := strings.SplitAfter(strings.TrimSuffix(sample.Broken().String(), "\n"), "\n")
	for i := range len(whole) - 1 {
		changed := append([]string{}, whole...)
		changed[i] = strings.Replace(changed[i], "2026-02-03T04", "2026-02-03T05", 1)
		r, err := report.Build(strings.NewReader(strings.Join(changed, "") + "\n"))
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "BROKEN") {
			t.Errorf("line %d: warnings %q", i+1, r.Warnings)
		}
		if len(r.Specs) != 15 || r.Exit != 1 {
			t.Errorf("line %d: %d specs, exit %d: what is left must still be reported", i+1, len(r.Specs), r.Exit)
		}
	}
	// A lost line, and one that is no JSON.
	lost := strings.Join(append(append([]string{}, whole[:12]...), whole[13:]...), "") + "\n"
	garbled := strings.Join(whole[:12], "") + "{\x00garbled\n" + strings.Join(whole[13:], "") + "\n"
	for name, text := range map[string]string{"lost": lost, "garbled": garbled} {
		if r := build(t, text); len(r.Warnings) == 0 || !strings.Contains(r.Warnings[0], "BROKEN") || len(r.Specs) < 10 {
			t.Errorf("%s: %d specs, warnings %q", name, len(r.Specs), r.Warnings)
		}
	}
}

func TestNothingToReport(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "a torn first line": `{"seq":1,`, "no journal": "hello\nworld\n",
	} {
		if r, err := report.Build(strings.NewReader(text)); err == nil {
			t.Errorf("%s: got %+v", name, r)
		}
	}
	broken := errors.New("disk on fire")
	if _, err := report.Build(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestStrangeEvents(t *testing.T) {
	j := new(sample.Journal).Add(journal.Event{Type: journal.TypeRun, Run: sample.Run()})
	j.Spec("no/such[gpu0]", sample.Pass)
	j.Add(journal.Event{Type: "of-the-future", Text: "ignored"})
	j.Add(journal.Event{Type: journal.TypeCheck})
	j.Add(journal.Event{Type: journal.TypeNode})
	r := build(t, j.Finish("done", 5).String())
	if len(r.Specs) != 0 || len(r.Warnings) != 1 {
		t.Errorf("specs %v, warnings %q", r.Specs, r.Warnings)
	}
}
