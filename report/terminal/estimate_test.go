package terminal

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/internal/sample"
	"github.com/peerproof/peerproof/runner/journal"
)

func TestLeft(t *testing.T) {
	check := func(total, ended int, seconds float64) *checkProgress {
		return &checkProgress{total: total, counts: report.Counts{Pass: ended}, seconds: seconds}
	}
	half := map[string]*checkProgress{"a/a": check(10, 5, 10)}
	usual := pace{ran: 5, seconds: 10, wall: 10 * time.Second}
	for name, c := range map[string]struct {
		checks  map[string]*checkProgress
		running []runningSpec
		pace    pace
		want    time.Duration
		unknown bool
	}{
		"half way":                       {checks: half, pace: usual, want: 10 * time.Second},
		"side by side":                   {checks: half, pace: pace{5, 10, 5 * time.Second}, want: 5 * time.Second},
		"one runs":                       {checks: half, pace: usual, running: []runningSpec{{"a/a", time.Second}}, want: 9 * time.Second},
		"one is overdue":                 {checks: half, pace: usual, running: []runningSpec{{"a/a", time.Hour}}, want: 8 * time.Second},
		"a check not begun has a mean":   {checks: map[string]*checkProgress{"a/a": check(5, 5, 10), "b/b": check(3, 0, 0)}, pace: usual, want: 6 * time.Second},
		"each check has its own":         {checks: map[string]*checkProgress{"a/a": check(5, 4, 8), "b/b": check(2, 1, 60)}, pace: pace{5, 68, 68 * time.Second}, want: 62 * time.Second},
		"all have ended":                 {checks: map[string]*checkProgress{"a/a": check(5, 5, 10)}, pace: usual, want: 0},
		"more ended than were planned":   {checks: map[string]*checkProgress{"a/a": check(5, 7, 10)}, pace: usual, want: 0},
		"too few ran":                    {checks: half, pace: pace{2, 4, 10 * time.Second}, unknown: true},
		"too soon":                       {checks: half, pace: pace{5, 10, time.Second}, unknown: true},
		"no time was told":               {checks: half, pace: pace{5, 0, 10 * time.Second}, unknown: true},
		"one of a check that is strange": {checks: half, pace: usual, running: []runningSpec{{"x/x", time.Second}}, want: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			got, known := left(c.checks, c.running, c.pace)
			if known == c.unknown || got.Round(time.Millisecond) != c.want {
				t.Errorf("%s, %t; want %s, %t", got, known, c.want, !c.unknown)
			}
		})
	}
}

func TestLeftIsNeverNegative(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		checks := map[string]*checkProgress{}
		for _, id := range []string{"a/a", "b/b"} {
			checks[id] = &checkProgress{
				total: rapid.IntRange(0, 20).Draw(rt, "total"), counts: report.Counts{Pass: rapid.IntRange(0, 20).Draw(rt, "ended")},
				seconds: rapid.Float64Range(0, 1e6).Draw(rt, "seconds"),
			}
		}
		var running []runningSpec
		for range rapid.IntRange(0, 30).Draw(rt, "running") {
			running = append(running, runningSpec{"a/a", time.Duration(rapid.Int64Range(0, 1e15).Draw(rt, "ran"))})
		}
		p := pace{rapid.IntRange(0, 99).Draw(rt, "n"), rapid.Float64Range(0, 1e6).Draw(rt, "sum"), time.Duration(rapid.Int64Range(0, 1e15).Draw(rt, "wall"))}
		if got, known := left(checks, running, p); got < 0 || !known && got != 0 {
			rt.Errorf("%s left, %t", got, known)
		}
	})
}

func TestLeftText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "<5 s left", 4 * time.Second: "<5 s left", 23 * time.Second: "~25 s left", 59 * time.Second: "~60 s left",
		84 * time.Second: "~1:20 left", 25*time.Minute + 40*time.Second: "~26 min left",
	} {
		if got := leftText(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		done, total int
		want        string
	}{{0, 0, "[........]"}, {0, 9, "[........]"}, {5, 10, "[####....]"}, {999, 1000, "[#######.]"}, {10, 10, "[########]"}, {12, 10, "[########]"}} {
		if got := bar(c.done, c.total); got != c.want {
			t.Errorf("%d of %d: %s", c.done, c.total, got)
		}
	}
}

// A resumed run's estimate rests on what it saw itself: the pause is no time
// that specs take.
func TestEstimateAfterResume(t *testing.T) {
	j := new(sample.Journal).Add(journal.Event{Type: journal.TypeRun, Run: sample.Run()})
	ids := []string{"gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7"}
	j.Check("memory/patterns", "x", nil, ids...)
	for _, id := range ids[:3] {
		j.Spec("memory/patterns["+id+"]", sample.Pass)
	}
	now := sample.Start
	var out bytes.Buffer
	p := newProgress(&out, Options{TTY: true}, func() time.Time { return now })
	for _, e := range j.Events() {
		p.Replay(e)
	}
	now = now.Add(24 * time.Hour)
	if _, known := p.left(); known {
		t.Error("an estimate before anything ran")
	}
	for _, id := range ids[3:6] {
		p.Event(journal.Event{Type: journal.TypeStart, Spec: "memory/patterns[" + id + "]"})
		now = now.Add(time.Second)
		p.Event(journal.Event{Type: journal.TypeEnd, Spec: "memory/patterns[" + id + "]", Outcome: &verdict.Outcome{Verdict: verdict.Pass}, Seconds: 1})
	}
	if d, known := p.left(); !known || d < time.Second || d > 2*time.Second {
		t.Errorf("%s, %t; want 1.5 s, two specs at 0.75 s", d, known)
	}
}
