package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/internal/sample"
	"github.com/peerproof/peerproof/runner/journal"
)

const flaky = "bandwidth/read-ce[gpu0->gpu1]"

// attempt adds another run of the flaky spec; a nil outcome leaves out its end.
func attempt(j *sample.Journal, n int, figure float64, o *verdict.Outcome) {
	m := sample.Bandwidth(figure)
	j.Add(journal.Event{Type: journal.TypeStart, Spec: flaky, Attempt: n})
	j.Add(journal.Event{Type: journal.TypeMeasure, Spec: flaky, Measurement: &m, Attempt: n})
	if o != nil {
		j.Add(journal.Event{Type: journal.TypeEnd, Spec: flaky, Outcome: o, Seconds: float64(n), Attempt: n})
	}
}

func flakyRun(first *verdict.Outcome) *sample.Journal {
	j := new(sample.Journal).Add(journal.Event{Type: journal.TypeRun, Run: sample.Run()})
	j.Check("bandwidth/read-ce", "fast", nil, "gpu0->gpu1", "gpu1->gpu0")
	j.Spec(flaky, first, sample.Bandwidth(38))
	j.Spec("bandwidth/read-ce[gpu1->gpu0]", sample.Pass, sample.Bandwidth(54))
	return j
}

func TestAttempts(t *testing.T) {
	slow, crash := verdict.Failf("below-floor", "38 GB/s"), verdict.Errorf(verdict.Crash, "gone")
	slow.Hint = "reseat it"
	stopped := verdict.Errorf(verdict.NotRun, "interrupted")
	for name, c := range map[string]struct {
		first  *verdict.Outcome
		again  []*verdict.Outcome
		counts report.Counts
		want   report.Spec
	}{
		"flaky": {&slow, []*verdict.Outcome{sample.Pass, sample.Pass}, report.Counts{Pass: 1, Fail: 1}, report.Spec{
			Verdict: verdict.Fail, Code: "below-floor", Message: "failed 1 of 3 runs: 38 GB/s", Hint: "reseat it", Duration: 0.5,
			Measurements: []verdict.Measurement{sample.Bandwidth(38)},
			Attempts:     []report.Attempt{{Verdict: verdict.Fail, Code: "below-floor", Message: "38 GB/s"}, {Verdict: verdict.Pass}, {Verdict: verdict.Pass}},
		}},
		"worse later": {&crash, []*verdict.Outcome{sample.Pass, &slow}, report.Counts{Pass: 1, Fail: 1}, report.Spec{
			Verdict: verdict.Fail, Code: "below-floor", Message: "failed 1 and erred 1 of 3 runs: 38 GB/s", Hint: "reseat it", Duration: 3,
			Measurements: []verdict.Measurement{sample.Bandwidth(3)},
			Attempts:     []report.Attempt{{Verdict: verdict.Error, Code: verdict.Crash, Message: "gone"}, {Verdict: verdict.Pass}, {Verdict: verdict.Fail, Code: "below-floor", Message: "38 GB/s"}},
		}},
		"stopped": {&slow, []*verdict.Outcome{&slow, &stopped}, report.Counts{Pass: 1, Fail: 1}, report.Spec{
			Verdict: verdict.Fail, Code: "below-floor", Message: "failed 2 of 2 runs: 38 GB/s", Hint: "reseat it", Duration: 0.5,
			Measurements: []verdict.Measurement{sample.Bandwidth(38)},
			Attempts:     []report.Attempt{{Verdict: verdict.Fail, Code: "below-floor", Message: "38 GB/s"}, {Verdict: verdict.Fail, Code: "below-floor", Message: "38 GB/s"}},
		}},
		"cut off": {&slow, []*verdict.Outcome{nil}, report.Counts{Pass: 1, Fail: 1}, report.Spec{
			Verdict: verdict.Fail, Code: "below-floor", Message: "38 GB/s", Hint: "reseat it", Duration: 0.5,
			Measurements: []verdict.Measurement{sample.Bandwidth(38)},
		}},
	} {
		j := flakyRun(c.first)
		for i, o := range c.again {
			attempt(j, i+2, float64(i+2), o)
		}
		r := build(t, j.Finish("done", 1).String())
		s := *spec(t, r, flaky)
		if s.Started.IsZero() || r.Counts != c.counts {
			t.Errorf("%s: started %v, %+v", name, s.Started, r.Counts)
		}
		c.want.ID, c.want.Text, c.want.Labels, c.want.Subject = s.ID, s.Text, s.Labels, s.Subject
		c.want.Started, c.want.Path = s.Started, s.Path
		if diff := cmp.Diff(c.want, s); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Another run of a spec whose first one has no end, as in a journal that was
// tampered with, invents no verdict.
func TestAttemptWithoutAFirst(t *testing.T) {
	j := flakyRun(nil)
	attempt(j, 2, 54, sample.Pass)
	r, err := report.Build(strings.NewReader(j.Finish("done", 1).String()))
	if err != nil {
		t.Fatal(err)
	}
	if s := spec(t, r, flaky); s.Code != verdict.NotRun || s.Attempts != nil {
		t.Errorf("%+v", s)
	}
}
