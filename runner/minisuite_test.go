package runner

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/runner/journal"
)

// bad is the spec that misbehaves in most mini-suites.
const bad = "mini/bad[gpu4->gpu1]"

// TestOneSpecPaysForItself runs suites in which one spec misbehaves: it gets
// the verdict that the design says, and every other spec passes.
func TestOneSpecPaysForItself(t *testing.T) {
	t.Parallel()
	for suite, c := range map[string]struct {
		want string
		says []string
		args []string
	}{
		"hang-in-c":         {"error hang", []string{"within 2s", "gpu4->gpu1", "looking at gpu4->gpu1"}, []string{"-timeout", "2s"}},
		"hang-decides":      {"fail no-progress", []string{"within 2s", "looking at"}, []string{"-timeout", "2s"}},
		"isolated-hang":     {"error hang", []string{"within 2s"}, []string{"-timeout", "2s"}},
		"ignores-sigterm":   {"error hang", nil, []string{"-timeout", "2s"}},
		"segv-in-c":         {"error crash", []string{"SIGSEGV", "looking at gpu4->gpu1"}, nil},
		"exits":             {"error crash", []string{"exited with status 0"}, nil},
		"killed":            {"error crash", []string{"SIGKILL"}, nil},
		"terminated":        {"error crash", []string{"SIGTERM"}, nil},
		"grandchild":        {"error crash", []string{"exit status 3"}, nil},
		"fails":             {"fail requirement-not-met", []string{"to equal"}, nil},
		"fails-in-cleanup":  {"fail requirement-not-met", []string{"in cleanup"}, nil},
		"fails-then-errs":   {"fail data-mismatch", []string{"3 bytes", "afterwards cuda-error: not given back"}, nil},
		"fails-then-sticky": {"fail data-mismatch", []string{"3 bytes", "afterwards sticky-error: cuMemFree"}, nil},
		"skip-without-code": {"error no-code", []string{"not today"}, nil},
		"panic":             {"error panic", []string{"body gone wild", "broken.go"}, nil},
		"late-fail":         {"error leaked", []string{"broken.go", "still runs"}, nil},
		"soon-fail":         {"error leaked", []string{"a bit too late"}, nil},
		"late-panic":        {"error crash", []string{"nobody recovers me"}, nil},
		"node-timeout":      {"error leaked", nil, nil},
		"aborts":            {"error not-run", []string{"stop everything"}, nil},
	} {
		t.Run(suite, func(t *testing.T) {
			t.Parallel()
			m := runMini(t, suite, c.args...)
			m.want(ExitFail, map[string]string{bad: c.want})
			for _, text := range c.says {
				if !strings.Contains(m.ends[bad].Message, text) {
					t.Errorf("message %q does not say %q", m.ends[bad].Message, text)
				}
			}
		})
	}
}

// A sticky error costs the child also where it is not the verdict.
func TestAStickyErrorOfACleanupReplacesTheChild(t *testing.T) {
	t.Parallel()
	for suite, replaced := range map[string]bool{"fails-then-sticky": true, "fails-then-errs": false} {
		m := runMini(t, suite)
		if got := slices.ContainsFunc(m.events, func(e journal.Event) bool { return e.Type == journal.TypeReplace }); got != replaced {
			t.Errorf("%s: child replaced: %t", suite, got)
		}
	}
}

func TestTheJournalTellsWhereASpecHung(t *testing.T) {
	t.Parallel()
	m := runMini(t, "hang-in-c", "-timeout", "2s")
	for _, e := range m.events {
		if e.Type == journal.TypeChildEnd && strings.Contains(e.Child.Stderr, "_Cfunc_hang") {
			return
		}
	}
	t.Error("no child's output names the C function")
}

func TestATreeThatCannotBeBuiltCostsItsCheck(t *testing.T) {
	t.Parallel()
	for suite, says := range map[string]string{
		"tree-panic": "no tree today",
		"tree-error": "broken.go",
		"tree-exit":  "Ginkgo ends the process for this",
	} {
		t.Run(suite, func(t *testing.T) {
			t.Parallel()
			m := runMini(t, suite)
			m.want(ExitFail, all("mini/bad", true, "error tree-panic"))
			if o := m.ends[bad]; !strings.Contains(o.Message, says) || strings.Contains(o.Message, "\x1b") {
				t.Errorf("message %q", o.Message)
			}
		})
	}
}

func TestAFocusedGuestCrowdsOutOnlyItsCheck(t *testing.T) {
	t.Parallel()
	runMini(t, "focused").want(ExitFail, all("mini/bad", false, "error no-code"))
}

func TestAllGood(t *testing.T) {
	t.Parallel()
	runMini(t, "innocent").want(ExitPass, nil)
}

func TestSlowButFine(t *testing.T) {
	t.Parallel()
	m := runMini(t, "slow")
	m.want(ExitPass, nil)
	for _, e := range m.events {
		if e.Type == journal.TypeEnd && e.Spec == "mini/bad" && e.Seconds < 0.4 {
			t.Errorf("it took %f s", e.Seconds)
		}
	}
}

func TestAnIDDeclaredTwiceIsRefused(t *testing.T) {
	t.Parallel()
	m := runMini(t, "twice")
	if m.exit != ExitInternal || !strings.Contains(m.output.String(), "broken.go:") || !strings.Contains(m.output.String(), "native.go:") {
		t.Errorf("exit %d: %s", m.exit, m.output.String())
	}
	if _, err := os.Stat(m.dir); !os.IsNotExist(err) {
		t.Errorf("it left a folder: %v", err)
	}
}

func TestTheLostCausesAreGivenUp(t *testing.T) {
	t.Parallel()
	m := runMini(t, "hangs", "-timeout", "2s")
	want := map[string]string{
		// Three partners, and gpu1 is given up.
		"mini/bad[gpu0->gpu1]": "error hang", "mini/bad[gpu1->gpu0]": "error hang",
		"mini/bad[gpu1->gpu2]": "error hang", "mini/bad[gpu1->gpu3]": "error hang",
		"mini/bad[gpu1->gpu4]": "error not-run", "mini/bad[gpu2->gpu1]": "error not-run",
		"mini/bad[gpu3->gpu1]": "error not-run", "mini/bad[gpu4->gpu1]": "error not-run",
		// gpu2 crashes on its own, three times.
		"mini/own-a[gpu2]": "error crash", "mini/own-b[gpu2]": "error crash",
		"mini/own-c[gpu2]": "error crash", "mini/own-d[gpu2]": "error not-run",
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		want["mini/own-"+id+"[gpu1]"] = "error not-run"
	}
	m.want(ExitFail, want)
	for id, text := range map[string]string{"mini/bad[gpu4->gpu1]": "3 different partners", "mini/own-d[gpu2]": "3 hangs or crashes"} {
		if !strings.Contains(m.ends[id].Message, text) {
			t.Errorf("%s: %s", id, m.ends[id].Message)
		}
	}
}

func TestWhatOthersRestOn(t *testing.T) {
	t.Parallel()
	m := runMini(t, "proof")
	want := map[string]string{"mini/aproof[gpu2]": "error crash", "mini/bad[gpu0->gpu3]": "error gpu-lost"}
	for id := range all("mini/bad", true, "") {
		if strings.Contains(id, "gpu2") {
			want[id] = "error blocked-by"
		}
	}
	// A lost GPU is given up once the child that met it is replaced; nobody
	// asks for that here, so the specs go on to find it lost.
	for _, id := range []string{"mini/bad[gpu1->gpu3]", "mini/bad[gpu4->gpu3]"} {
		want[id] = "error gpu-lost"
	}
	m.want(ExitFail, want)
}

func TestMaxFailEndsTheRest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flag  string
		fails []string
	}{
		{"1", []string{"mini/bad[gpu0->gpu1]"}},
		{"3", []string{"mini/bad[gpu0->gpu1]", "mini/bad[gpu0->gpu2]", "mini/bad[gpu0->gpu3]"}},
	} {
		m := runMini(t, "failing", "-maxfail", c.flag)
		want := all("mini/bad", true, "error not-run")
		maps.Copy(want, all("zz/pair", true, "error not-run"))
		want["zz/node"] = "error not-run"
		for _, id := range c.fails {
			want[id] = "fail requirement-not-met"
		}
		m.want(ExitFail, want)
		if last := m.events[len(m.events)-1]; last.Finish == nil || last.Finish.Reason != reasonMaxFail {
			t.Errorf("the last event is %+v", last)
		}
	}
}

func TestARequiredSkipIsAFail(t *testing.T) {
	t.Parallel()
	profile := filepath.Join(t.TempDir(), "profile.yaml")
	if err := os.WriteFile(profile, []byte("version: 1\nname: strict\nrequire: [\"mini/bad\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := runMini(t, "required", "-profile", profile)
	m.want(ExitFail, map[string]string{bad: "fail required-skip"})
	if o := m.ends[bad]; !strings.Contains(o.Message, "not-supported") {
		t.Errorf("the old code is gone: %s", o.Message)
	}
	runMini(t, "required").want(ExitPass, map[string]string{bad: "skip not-supported"})
}

func TestNothingTestedIsExit5(t *testing.T) {
	t.Parallel()
	m := runMini(t, "innocent", "-k", "no-such-spec")
	if m.want(ExitNothing, nil); len(m.ends) != 0 {
		t.Errorf("specs ended: %v", m.ends)
	}
	m = runMini(t, "required", "-k", bad)
	m.want(ExitNothing, map[string]string{bad: "skip not-supported"})
}

// interrupted is what the suite "sleepy" ends in when it is stopped while
// mini/bad[gpu1] sleeps.
func interrupted() map[string]string {
	want := all("mini/bad", false, "error not-run")
	delete(want, "mini/bad[gpu0]")
	maps.Copy(want, all("zz/pair", true, "error not-run"))
	want["zz/node"] = "error not-run"
	return want
}

func TestASignalLeavesAFullReport(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			m := begin(t, "sleepy")
			m.awaitStep("mini/bad[gpu1]")
			kill(t, m.cmd.Process.Pid, sig)
			m.end().want(ExitInterrupted, interrupted())
			if o := m.ends["mini/bad[gpu1]"]; !strings.Contains(o.Message, "interrupted") {
				t.Errorf("message %q", o.Message)
			}
			// A reboot asks politely first: such a run can be resumed.
			m.start("sleepy", "-resume", m.dir)
			m.end().want(ExitPass, nil)
		})
	}
}

func TestResumeAfterTheParentWasKilled(t *testing.T) {
	t.Parallel()
	m := begin(t, "sleepy")
	m.awaitStep("mini/bad[gpu1]")
	kill(t, m.cmd.Process.Pid, syscall.SIGKILL)
	m.end()
	m.gone() // Pdeathsig
	// A power cut tears the last line.
	file, err := os.OpenFile(filepath.Join(m.dir, JournalFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(`{"seq":99,"pr`); err != nil {
		t.Fatal(err)
	}
	file.Close()
	before := len(m.events)
	m.start("sleepy", "-resume", m.dir)
	m.end().want(ExitPass, nil)
	again := map[string]int{}
	for _, e := range m.events[before:] {
		if e.Type == journal.TypeStart {
			again[e.Spec]++
		}
	}
	if again["before/gpu[gpu0]"] != 0 || again["mini/bad[gpu0]"] != 0 {
		t.Errorf("specs that had ended ran again: %v", again)
	}
	if again["mini/bad[gpu1]"] != 1 || again["zz/node"] != 1 {
		t.Errorf("specs that had not ended did not run: %v", again)
	}
	// It is whole now, and there is nothing to go on with.
	m.start("sleepy", "-resume", m.dir)
	if m.end(); m.exit != ExitUsage || !strings.Contains(m.output.String(), "has ended (done)") {
		t.Errorf("exit %d: %s", m.exit, m.output.String())
	}
}

func TestASpecThatTakesTheMachineDownTwiceIsToBlame(t *testing.T) {
	t.Parallel()
	m := begin(t, "sleepy")
	for range maxTries {
		m.awaitStep("mini/bad[gpu1]")
		starts := 0
		for starts == 0 {
			m.read()
			starts = len(m.events)
		}
		kill(t, m.cmd.Process.Pid, syscall.SIGKILL)
		m.end()
		n := len(m.events)
		m.start("sleepy", "-resume", m.dir)
		m.await("a start after the resume", func(e journal.Event) bool {
			return e.Seq > uint64(n) && (e.Type == journal.TypeStep && e.Spec == "mini/bad[gpu1]" || e.Type == journal.TypeFinish)
		})
	}
	m.end().want(ExitFail, map[string]string{"mini/bad[gpu1]": "error crash"})
	if o := m.ends["mini/bad[gpu1]"]; !strings.Contains(o.Message, "cut off") {
		t.Errorf("message %q", o.Message)
	}
}

func TestTheChildIsKilledFromOutside(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			m := begin(t, "sleepy")
			m.awaitStep("mini/bad[gpu1]")
			kill(t, m.child(), sig)
			m.end().want(ExitFail, map[string]string{"mini/bad[gpu1]": "error " + verdict.Crash})
		})
	}
}

func TestTwoRunsDoNotShareAJournal(t *testing.T) {
	t.Parallel()
	m := begin(t, "sleepy")
	m.awaitStep("mini/bad[gpu1]")
	other := &mini{t: t, dir: m.dir}
	other.start("sleepy", "-resume", m.dir)
	if other.end(); other.exit != ExitUsage || !strings.Contains(other.output.String(), "another run") {
		t.Errorf("exit %d: %s", other.exit, other.output.String())
	}
	m.end().want(ExitPass, nil)
}

func TestPathsAreRefusedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	m := runMini(t, "innocent")
	before, err := os.ReadFile(filepath.Join(m.dir, JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(filepath.Dir(m.dir), "five.yaml")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"exists":     {[]string{"-out", m.dir}, "exists already"},
		"a file":     {[]string{"-out", file}, "exists already"},
		"no parent":  {[]string{"-out", filepath.Join(m.dir, "a", "b")}, "no such file or directory"},
		"under file": {[]string{"-out", filepath.Join(file, "b")}, "not a directory"},
		"proc":       {[]string{"-out", "/proc/peerproof"}, "/proc"},
		"no run":     {[]string{"-resume", filepath.Dir(m.dir)}, "holds no journal.jsonl"},
		"keyword":    {[]string{"-out", m.dir + "2", "-k", "and and"}, "column 1"},
		"maxfail":    {[]string{"-out", m.dir + "2", "-maxfail", "-1"}, "--maxfail -1"},
	} {
		t.Run(name, func(t *testing.T) {
			other := &mini{t: t, dir: m.dir}
			other.start("innocent", c.args...)
			other.end()
			text := other.output.String()
			if other.exit != ExitUsage || !strings.Contains(text, c.says) || strings.Count(text, "\n") != 1 {
				t.Errorf("exit %d: %s", other.exit, text)
			}
		})
	}
	if after, _ := os.ReadFile(filepath.Join(m.dir, JournalFile)); string(after) != string(before) {
		t.Error("the journal of the first run was changed")
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(m.dir), "*"))
	hidden, _ := filepath.Glob(filepath.Join(filepath.Dir(m.dir), ".*"))
	if len(left) != 2 || len(hidden) != 0 {
		t.Errorf("files left: %v %v", left, hidden)
	}
}
