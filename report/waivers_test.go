package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/peerproof/peerproof/fixtures/profile"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report/internal/sample"
	"github.com/peerproof/peerproof/runner/journal"
)

const waivers = `version: 1
waivers:
  - {spec: "memory/*[gpu3]", reason: old, owner: ops, expires: 2026-12-01}
  - {spec: "link/*[gpu3]", code: links-down, reason: cable, owner: ops, expires: 2026-12-31}
  - {spec: "bandwidth/typo", reason: slow, owner: ops, expires: 2026-12-31}
`

func TestStaleWaivers(t *testing.T) {
	p, err := profile.Parse("p", []byte(waivers))
	if err != nil {
		t.Fatal(err)
	}
	cable := &Waiver{Spec: "link/*[gpu3]", Reason: "cable", Owner: "ops", Expires: "2026-12-31"}
	typo := "the waiver of bandwidth/typo (ops: slow) matches no spec of this run: it is misspelled, or they were not selected"
	old := func(covered, bad string) string {
		return "the waiver of memory/*[gpu3] (ops: old) has expired: its last day was 2026-12-01. Of " + covered + " specs that it covers " + bad + " failed or erred"
	}
	for name, c := range map[string]struct {
		on    string
		specs []Spec
		want  []string
	}{
		"each for its reason": {"2026-12-02T00:00:00Z", []Spec{
			{ID: "memory/patterns[gpu3]", Verdict: verdict.Fail, Code: "data-mismatch"},
			{ID: "memory/march[gpu3]", Verdict: verdict.Pass},
			{ID: "link/nvlink-active[gpu3]", Verdict: verdict.Waived, Code: "links-down", Waiver: cable},
		}, []string{old("2", "1"), typo}},
		"on the last day": {"2026-12-01T23:59:59Z", []Spec{
			{ID: "memory/patterns[gpu3]", Verdict: verdict.Pass},
			{ID: "link/nvlink-active[gpu3]", Verdict: verdict.Waived, Code: "links-down", Waiver: cable},
		}, []string{"the waiver of memory/*[gpu3] (ops: old) excused nothing: of 1 spec that it covers none needed it. Take it out", typo}},
		"another code": {"2026-12-02T00:00:00Z", []Spec{
			{ID: "link/nvlink-active[gpu3]", Verdict: verdict.Fail, Code: "hang"}, {ID: "link/pcie-idle[gpu3]", Verdict: verdict.Pass},
		}, []string{
			old("0", "0"),
			"the waiver of link/*[gpu3] with code links-down (ops: cable) excused nothing: of 2 specs that it covers 1 failed or erred, with other codes", typo,
		}},
		"not run": {"2026-12-02T00:00:00Z", []Spec{
			{ID: "link/nvlink-active[gpu3]", Verdict: verdict.Error, Code: verdict.NotRun}, {ID: "link/pcie-idle[gpu3]", Verdict: verdict.Pass},
		}, []string{old("0", "0"), typo}},
		"excused by another": {"2026-12-02T00:00:00Z", []Spec{
			{ID: "link/nvlink-active[gpu3]", Verdict: verdict.Waived, Code: "links-down", Waiver: &Waiver{Spec: "link/*", Reason: "x", Owner: "y", Expires: "2026-12-31"}},
		}, []string{old("0", "0"), "the waiver of link/*[gpu3] with code links-down (ops: cable) excused nothing: of 1 spec that it covers none needed it. Take it out", typo}},
	} {
		on, err := time.Parse(time.RFC3339, c.on)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, staleWaivers(p, on, c.specs)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The journal's verdict stands, and expiry goes by the journal's first line.
func TestWaiversOfAJournal(t *testing.T) {
	for expires, says := range map[string]string{"2026-02-03": "none needed it", "2026-02-02": "has expired"} {
		run := sample.Run()
		run.Profile, run.ProfileText = "p", "version: 1\nwaivers: [{spec: memory/march, reason: r, owner: o, expires: "+expires+"}]\n"
		j := new(sample.Journal).Add(journal.Event{Type: journal.TypeRun, Run: run})
		j.Check("memory/march", "x", nil, "gpu0", "gpu1")
		o := verdict.Failf("data-mismatch", "bit 3").Waive(verdict.Waiver{Spec: "memory/*", Reason: "r", Owner: "o", Expires: "2030-01-01"})
		j.Spec("memory/march[gpu0]", &o)
		j.Spec("memory/march[gpu1]", sample.Pass)
		r, err := Build(strings.NewReader(j.Finish("done", 0).String()))
		if err != nil {
			t.Fatal(err)
		}
		s := r.Specs[0]
		if s.Verdict != verdict.Waived || s.Code != "data-mismatch" || s.Message != "bit 3" || s.Waiver == nil || *s.Waiver != *o.Waiver {
			t.Errorf("%+v", s)
		}
		if r.Verdict != verdict.Pass || r.Counts != (Counts{Pass: 1, Waived: 1}) || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], says) {
			t.Errorf("%s, %+v, %q", r.Verdict, r.Counts, r.Warnings)
		}
	}
}
