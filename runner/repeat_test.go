package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/verdict"
	reports "github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/runner/journal"
)

// results are those of the journal alone.
func (m *mini) results() map[string]*reports.Spec {
	m.t.Helper()
	file, err := os.Open(filepath.Join(m.dir, JournalFile))
	if err != nil {
		m.t.Fatal(err)
	}
	defer file.Close()
	r, err := reports.Build(file)
	if err != nil {
		m.t.Fatal(err)
	}
	if r.Exit != m.exit || r.Exit != ExitInterrupted && (r.Counts.Fail+r.Counts.Error > 0) != (r.Exit == ExitFail) {
		m.t.Errorf("exit %d and %+v, the run's was %d", r.Exit, r.Counts, m.exit)
	}
	all := map[string]*reports.Spec{}
	for i := range r.Specs {
		all[r.Specs[i].ID] = &r.Specs[i]
	}
	return all
}

// attempts are a spec's runs on a line each.
func attempts(s *reports.Spec) string {
	var all []string
	for _, a := range s.Attempts {
		all = append(all, strings.TrimSpace(string(a.Verdict)+" "+a.Code))
	}
	return strings.Join(all, ", ")
}

func TestFailuresAreRepeated(t *testing.T) {
	t.Parallel()
	const always = "fail requirement-not-met"
	for suite, c := range map[string]struct {
		first, stands, says, runs string
		figure                    float64 // the run whose figures are shown; a crash takes them along
	}{
		"flaky":           {always, always, "failed 1 of 3 runs: ", always + ", pass, pass", 1},
		"flaky-alone":     {always, always, "failed 1 of 3 runs: ", always + ", pass, pass", 1},
		"crashes":         {"error crash", "error crash", "erred 3 of 3 runs: ", "error crash, error crash, error crash", 0},
		"crash-then-fail": {"error crash", always, "failed 1 and erred 1 of 3 runs: ", "error crash, " + always + ", pass", 2},
	} {
		t.Run(suite, func(t *testing.T) {
			t.Parallel()
			m := runMini(t, suite, "-preset", "rma")
			m.want(ExitFail, map[string]string{bad: c.first, "last/derived[gpu4->gpu1]": "fail as-always", "last/run": "fail as-always"})
			all := m.results()
			s := all[bad]
			if got := string(s.Verdict) + " " + s.Code; got != c.stands || !strings.HasPrefix(s.Message, c.says) || attempts(s) != c.runs {
				t.Errorf("%s %q: %s", got, s.Message, attempts(s))
			}
			figure := 0.0
			for _, f := range s.Measurements {
				figure += f.Value
			}
			if figure != c.figure || s.Started.IsZero() {
				t.Errorf("figures %+v, want those of run %g", s.Measurements, c.figure)
			}
			// What would end the same is not repeated; what looks back on the
			// whole run looks back on the repeats.
			if s := all["last/derived[gpu4->gpu1]"]; s.Message != "derived run 1" || s.Attempts != nil {
				t.Errorf("%+v", s)
			}
			if s := all["last/run"]; s.Message != "last run 1 after 3" || s.Attempts != nil {
				t.Errorf("%+v", s)
			}
			if n := len(all[bad].Attempts); n != 3 || all["zz/node"].Attempts != nil {
				t.Errorf("%d attempts", n)
			}
			m.freshChildren(2)
		})
	}
}

// freshChildren checks that each repeat of the bad spec ran in a child that
// nothing else had run in.
func (m *mini) freshChildren(repeats int) {
	m.t.Helper()
	fresh, n := false, 0
	for _, e := range m.events {
		switch e.Type {
		case journal.TypeChild:
			fresh = true
		case journal.TypeStart:
			if e.Attempt > 0 {
				n++
				if !fresh || e.Spec != bad {
					m.t.Errorf("%s run %d, in a fresh child: %t", e.Spec, e.Attempt, fresh)
				}
			}
			fresh = false
		default:
		}
	}
	if n != repeats {
		m.t.Errorf("%d repeats", n)
	}
}

func TestOtherPresetsRepeatNothing(t *testing.T) {
	t.Parallel()
	m := runMini(t, "flaky")
	if s := m.results()[bad]; s.Attempts != nil || strings.Contains(s.Message, "runs") {
		t.Errorf("%+v", s)
	}
	m.freshChildren(0)
}

// A run that stops early repeats nothing, and one whose failures are excused
// has nothing to repeat.
func TestWhatIsNotRepeated(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"stopped": {"-maxfail", "1"},
		"waived":  {"-profile", profileFile(t, waiveOne)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := runMini(t, "flaky", append(args, "-preset", "rma")...)
			if s := m.results()[bad]; s.Attempts != nil {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A spec that others rest on does not stand in its own way. They were blocked,
// and are no better for what came later.
func TestWhatOthersRestOnIsRepeated(t *testing.T) {
	t.Parallel()
	m := runMini(t, "unfit", "-preset", "rma")
	m.want(ExitFail, map[string]string{"mini/aproof[gpu2]": "error crash", "mini/bad[gpu2]": "error blocked-by"})
	all := m.results()
	if s := all["mini/aproof[gpu2]"]; attempts(s) != "error crash, pass, pass" {
		t.Errorf("%s", attempts(s))
	}
	if s := all["mini/bad[gpu2]"]; s.Attempts != nil {
		t.Errorf("%+v", s)
	}
}

func TestResumeInTheMiddleOfRepeats(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			m := begin(t, "slow-repeats", "-preset", "rma")
			m.await("step of a repeat", func(e journal.Event) bool {
				return e.Type == journal.TypeStep && e.Attempt == 2 && e.Text == "taking its time"
			})
			kill(t, m.cmd.Process.Pid, sig)
			m.end()
			if sig == syscall.SIGINT {
				want := map[string]string{bad: "fail requirement-not-met", "last/derived[gpu4->gpu1]": "fail as-always", "last/run": "error not-run"}
				m.want(ExitInterrupted, want)
				if s := m.results()[bad]; s.Attempts != nil || s.Code != "requirement-not-met" {
					t.Errorf("an interrupted repeat counts: %+v", s)
				}
			}
			before := len(m.events)
			m.start("slow-repeats", "-resume", m.dir)
			m.end()
			var runs []string
			for _, e := range m.events[before:] {
				if e.Type == journal.TypeStart {
					runs = append(runs, fmt.Sprint(e.Spec, " ", e.Attempt))
				}
			}
			if want := []string{bad + " 2", bad + " 3", "last/run 0"}; !slices.Equal(runs, want) {
				t.Errorf("after the resume %q ran, want %q", runs, want)
			}
			s := m.results()[bad]
			if attempts(s) != "fail requirement-not-met, fail requirement-not-met, fail requirement-not-met" || !strings.HasPrefix(s.Message, "failed 3 of 3 runs: ") {
				t.Errorf("%q: %s", s.Message, attempts(s))
			}
			if len(s.Measurements) != 1 || s.Measurements[0].Value != 1 {
				t.Errorf("figures %+v, want those of the first run", s.Measurements)
			}
		})
	}
}

func TestWhatIsRepeatable(t *testing.T) {
	t.Parallel()
	plain := &fixtures.Check{ID: "a/b"}
	fail := verdict.Failf("x", "y")
	for name, c := range map[string]struct {
		spec    fixtures.Spec
		outcome verdict.Outcome
		idle    bool // it never ran
		want    bool
	}{
		"a failure":     {fixtures.Spec{Check: plain}, fail, false, true},
		"an error":      {fixtures.Spec{Check: plain}, verdict.Errorf(verdict.Hang, "y"), false, true},
		"a pass":        {fixtures.Spec{Check: plain}, pass, false, false},
		"a skip":        {fixtures.Spec{Check: plain}, verdict.Skipf("x", "y"), false, false},
		"waived":        {fixtures.Spec{Check: plain}, fail.Waive(verdict.Waiver{}), false, false},
		"never ran":     {fixtures.Spec{Check: plain}, fail, true, false},
		"settled":       {fixtures.Spec{Check: plain, Settled: &fail}, fail, false, false},
		"blocked":       {fixtures.Spec{Check: plain}, verdict.Errorf(verdict.BlockedBy, "y"), false, false},
		"not run":       {fixtures.Spec{Check: plain}, verdict.Errorf(verdict.NotRun, "y"), false, false},
		"a lost GPU":    {fixtures.Spec{Check: plain}, verdict.Errorf(verdict.GPULost, "y"), false, false},
		"derived":       {fixtures.Spec{Check: &fixtures.Check{ID: "a/b", Inputs: []string{"a/c"}}}, fail, false, false},
		"the whole run": {fixtures.Spec{Check: &fixtures.Check{ID: "a/b", Last: true}}, fail, false, false},
	} {
		if got := repeatable(c.spec, c.outcome, !c.idle); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Strikes count in repeats as they do in first runs, and what was given up
// keeps the runs that it had.
func TestRepeatsOfWhatIsGivenUp(t *testing.T) {
	t.Parallel()
	l, _ := testLedger(3)
	l.repeats.runs = 3
	for i, o := range []verdict.Outcome{verdict.Errorf(verdict.Crash, "gone"), pass, verdict.Failf("x", "y")} {
		l.start(i)
		l.end(i, o, 0)
	}
	l.trouble.crashed(gpu(0))
	if l.failures != 2 || !l.repeat() || l.failures != 0 || l.next() != 0 {
		t.Fatalf("%d failures, next %d", l.failures, l.next())
	}
	l.start(0)
	l.end(0, verdict.Errorf(verdict.Crash, "gone"), 0)
	l.trouble.crashed(gpu(0))
	l.trouble.crashed(gpu(0))
	if l.attempt(2) != 2 || l.next() != 2 {
		t.Fatalf("run %d, next %d", l.attempt(2), l.next())
	}
	l.trouble.giveUp(2, "it is lost")
	l.trouble.count[gpu(2)] = subjectLimit
	if l.next() != 3 || l.repeat() {
		t.Fatal("what was given up is run again")
	}
	if l.counts[verdict.Error] != 1 || l.counts[verdict.Fail] != 1 || l.counts[verdict.Pass] != 1 || l.failures != 2 {
		t.Errorf("%v, %d failures", l.counts, l.failures)
	}
	if n := len(l.repeats.outcomes[0]); n != 2 {
		t.Errorf("gpu0 has %d runs", n)
	}
}
