package runner

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/profile"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/runner/journal"
)

const waiveOne = `version: 1
name: patient
waivers:
  - {spec: "mini/bad[gpu4->*]", code: requirement-not-met, reason: riser on order, owner: ops, expires: 2999-12-31}
`

// profileFile writes a profile for a run to be given.
func profileFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "profile.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAWaivedFailureFailsNoRun(t *testing.T) {
	t.Parallel()
	m := runMini(t, "fails", "-profile", profileFile(t, waiveOne), "-maxfail", "1")
	m.want(ExitPass, map[string]string{bad: "waived requirement-not-met"})
	o := m.ends[bad]
	want := verdict.Waiver{Spec: "mini/bad[gpu4->*]", Reason: "riser on order", Owner: "ops", Expires: "2999-12-31"}
	if o.Was != verdict.Fail || o.Waiver == nil || *o.Waiver != want || !strings.Contains(o.Message, "to equal") {
		t.Errorf("%+v", o)
	}
	for name, c := range map[string]struct{ suite, from, to, want string }{
		"another code": {"segv-in-c", "", "", "error crash"},
		"another spec": {"fails", "gpu4->*", "gpu1->*", "fail requirement-not-met"},
		"expired":      {"fails", "2999-12-31", "2026-01-31", "fail requirement-not-met"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := runMini(t, c.suite, "-profile", profileFile(t, strings.Replace(waiveOne, c.from, c.to, 1)))
			m.want(ExitFail, map[string]string{bad: c.want})
		})
	}
}

// What rests on a waived failure is blocked by it, unless it is waived too.
func TestAWaiverMendsNothing(t *testing.T) {
	t.Parallel()
	m := runMini(t, "proof", "-k", "(mini/aproof or mini/bad) and not gpu3", "-profile", profileFile(t, `version: 1
waivers:
  - {spec: "mini/aproof[gpu2]", reason: a, owner: b, expires: 2999-12-31}
  - {spec: "mini/bad[gpu2->*]", code: blocked-by, reason: a, owner: b, expires: 2999-12-31}
`))
	want := map[string]string{"mini/aproof[gpu2]": "waived crash"}
	for _, other := range []string{"gpu0", "gpu1", "gpu4"} {
		want["mini/bad["+other+"->gpu2]"] = "error blocked-by"
		want["mini/bad[gpu2->"+other+"]"] = "waived blocked-by"
	}
	m.want(ExitFail, want)
}

// A stop leaves what was not run as it is, and a resumed run goes by the day
// on which it began.
func TestAResumedRunKeepsItsWaivers(t *testing.T) {
	t.Parallel()
	m := begin(t, "sleepy", "-profile", profileFile(t, strings.Replace(waiveOne, `"mini/bad[gpu4->*]", code: requirement-not-met`, `"mini/bad[gpu*]"`, 1)))
	m.awaitStep("mini/bad[gpu1]")
	kill(t, m.cmd.Process.Pid, syscall.SIGINT)
	m.end().want(ExitInterrupted, interrupted())
	m.start("sleepy", "-resume", m.dir)
	m.end().want(ExitPass, nil)
}

func TestTheLedgerWaives(t *testing.T) {
	t.Parallel()
	p, err := profile.Parse("p", []byte("version: 1\nwaivers: [{spec: \"a/b[gpu0]\", reason: r, owner: o, expires: 2026-01-31}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		began string
		want  verdict.Verdict
	}{{"2026-01-31T23:59:59Z", verdict.Waived}, {"2026-02-01T00:00:00Z", verdict.Fail}} {
		l, _ := testLedger(2)
		l.inputs["a/b"] = true
		l.profile, l.maxFail = p, 1
		if l.began, err = time.Parse(time.RFC3339, c.began); err != nil {
			t.Fatal(err)
		}
		l.end(0, verdict.Failf("x", "y"), 0)
		if l.verdicts[0] != c.want || l.full() != (c.want == verdict.Fail) {
			t.Errorf("%s: %s, full %t", c.began, l.verdicts[0], l.full())
		}
		if o := l.records["a/b[gpu0]"].Outcome; o.Verdict != verdict.Fail || o.Waiver != nil {
			t.Errorf("%s: derived checks see %+v", c.began, o)
		}
	}
}

// What a resumed run reads back is judged as when it was new.
func TestReplayOfWhatWasWaived(t *testing.T) {
	t.Parallel()
	past := newPast()
	o := verdict.Errorf(verdict.GPULost, "gone").Waive(verdict.Waiver{Spec: "a/*"})
	for _, e := range []journal.Event{
		{Type: journal.TypeStart, Spec: "a/b[gpu0]"}, {Type: journal.TypeEnd, Spec: "a/b[gpu0]", Outcome: &o},
	} {
		if err := past.take(e); err != nil {
			t.Fatal(err)
		}
	}
	l, _ := testLedger(1)
	l.inputs["a/b"] = true
	if err := past.replay(l, nil); err != nil {
		t.Fatal(err)
	}
	if l.verdicts[0] != verdict.Waived || l.failures != 0 || l.exit() != ExitPass || l.records["a/b[gpu0]"].Outcome.Verdict != verdict.Error {
		t.Errorf("%s, %d failures, exit %d, %+v", l.verdicts[0], l.failures, l.exit(), l.records)
	}
	other := fixtures.Spec{Check: &fixtures.Check{ID: "a/c", Needs: fixtures.CUDA}, Subject: gpu(0)}
	if _, decided := l.trouble.verdict(other); !decided {
		t.Error("a lost GPU is used again")
	}
}
