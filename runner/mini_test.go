package runner

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/runner/journal"
)

// minisuite is the program of testdata/minisuite: the supervisor of this
// package with suites that misbehave.
var minisuite string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "minisuite")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	minisuite = filepath.Join(dir, "minisuite")
	build := exec.Command("go", "build", fmt.Sprintf("-race=%v", raceFlag), "-o", minisuite, "./testdata/minisuite")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n%s", build, err, out)
		return 1
	}
	// The mini-suites mostly wait for one another's deadlines, not for a processor.
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// fiveGPUs is the node of the mini-suites: twenty ordered pairs.
const fiveGPUs = `
version: 1
name: five
gpus: {count: 5, model: NVIDIA L40S, memory: 1MiB, pcie: {gen: 4, width: 16}}
numa: [0, 0, 0, 0, 0]
`

// mini is a mini-suite on its way, or what became of it.
type mini struct {
	t      *testing.T
	cmd    *exec.Cmd
	dir    string
	output bytes.Buffer
	exit   int
	events []journal.Event
	ends   map[string]verdict.Outcome
}

// begin starts a mini-suite on five GPUs.
func begin(t *testing.T, suite string, args ...string) *mini {
	t.Helper()
	dir := t.TempDir()
	node := filepath.Join(dir, "five.yaml")
	if err := os.WriteFile(node, []byte(fiveGPUs), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &mini{t: t, dir: filepath.Join(dir, "out")}
	m.start(suite, append([]string{"-node", node, "-out", m.dir}, args...)...)
	return m
}

func (m *mini) start(suite string, args ...string) {
	m.t.Helper()
	m.cmd = exec.Command(minisuite, args...)
	// The race detector would have every process wait a second before it exits.
	m.cmd.Env = append(os.Environ(), "MINISUITE="+suite, "MINISUITE_STATE="+m.dir+".state", "GORACE=atexit_sleep_ms=0")
	m.cmd.Stdout, m.cmd.Stderr = &m.output, &m.output
	m.cmd.WaitDelay = 5 * time.Second
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = m.cmd.Process.Kill() })
}

// end waits for the run and reads its journal.
func (m *mini) end() *mini {
	m.t.Helper()
	limit := time.AfterFunc(60*time.Second, func() { _ = m.cmd.Process.Kill() })
	err := m.cmd.Wait()
	if !limit.Stop() {
		m.t.Fatalf("the run did not end\n%s", m.output.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	m.exit = m.cmd.ProcessState.ExitCode()
	if strings.Contains(m.output.String(), "DATA RACE") {
		m.t.Error(m.output.String())
	}
	m.read()
	return m
}

// read reads what is in the journal by now, which may be torn.
func (m *mini) read() {
	m.t.Helper()
	m.events, m.ends = nil, map[string]verdict.Outcome{}
	data, err := os.ReadFile(filepath.Join(m.dir, JournalFile))
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		m.t.Fatal(err)
	}
	err = journal.Scan(bytes.NewReader(data), func(e journal.Event) error {
		m.events = append(m.events, e)
		if e.Type == journal.TypeEnd && e.Attempt == 0 {
			m.ends[e.Spec] = *e.Outcome
		}
		return nil
	})
	var torn *journal.TornError
	if err != nil && !errors.As(err, &torn) {
		m.t.Fatal(err)
	}
}

func runMini(t *testing.T, suite string, args ...string) *mini {
	t.Helper()
	return begin(t, suite, args...).end()
}

// await waits until an event is in the journal.
func (m *mini) await(what string, is func(journal.Event) bool) journal.Event {
	m.t.Helper()
	for range 600 {
		m.read()
		for _, e := range m.events {
			if is(e) {
				return e
			}
		}
		time.Sleep(25 * time.Millisecond)
	}
	m.t.Fatalf("no %s in the journal\n%s", what, m.output.String())
	return journal.Event{}
}

func (m *mini) awaitStep(spec string) {
	m.t.Helper()
	m.await("step of "+spec, func(e journal.Event) bool { return e.Type == journal.TypeStep && e.Spec == spec })
}

// child is the process id of the last child that was started.
func (m *mini) child() int {
	m.t.Helper()
	pid := 0
	for _, e := range m.events {
		if e.Type == journal.TypeChild {
			pid = e.Child.PID
		}
	}
	if pid == 0 {
		m.t.Fatal("no child in the journal")
	}
	return pid
}

// want holds the run against its exit code, the specs that are named, and
// "VERDICT CODE" for each; all others must pass. It checks what holds of every
// run: each spec of the plan ended, the last event tells how the run ended,
// and no process is left.
func (m *mini) want(exit int, expected map[string]string) {
	m.t.Helper()
	if m.exit != exit {
		m.t.Errorf("exit %d, want %d\n%s", m.exit, exit, m.output.String())
	}
	if len(m.events) == 0 {
		m.t.Fatalf("no journal\n%s", m.output.String())
	}
	last := m.events[len(m.events)-1]
	if last.Type != journal.TypeFinish || last.Finish.Exit != exit {
		m.t.Errorf("the last event is %+v", last)
	}
	planned := m.planned()
	for id := range expected {
		if !planned[id] {
			m.t.Errorf("%s is not in the plan", id)
		}
	}
	for id := range planned {
		o, ended := m.ends[id]
		got := strings.TrimSpace(string(o.Verdict) + " " + o.Code)
		want := expected[id]
		if want == "" {
			want = "pass"
		}
		if !ended || got != want {
			m.t.Errorf("%s: %q, want %q: %s", id, got, want, o.Message)
		}
	}
	m.gone()
}

// planned are the ids of the check events.
func (m *mini) planned() map[string]bool {
	all := map[string]bool{}
	for _, e := range m.events {
		if e.Type != journal.TypeCheck {
			continue
		}
		for _, s := range e.Check.Subjects {
			id := e.Check.ID
			if s != "" {
				id += "[" + s + "]"
			}
			all[id] = true
		}
	}
	return all
}

// gone checks that no child of the run is left.
func (m *mini) gone() {
	m.t.Helper()
	for _, e := range m.events {
		if e.Type != journal.TypeChild {
			continue
		}
		for tries := 0; alive(e.Child.PID); tries++ {
			if tries == 100 {
				m.t.Errorf("child %d still runs", e.Child.PID)
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// alive says whether a process runs. One that is dead and not yet reaped does
// not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || !bytes.Contains(stat, []byte("(minisuite)")) {
		return false
	}
	after := stat[bytes.LastIndexByte(stat, ')')+1:]
	return !bytes.HasPrefix(bytes.TrimSpace(after), []byte("Z"))
}

// all names every ordered pair of five GPUs, or every GPU, of a check.
func all(check string, pairs bool, what string) map[string]string {
	m := map[string]string{}
	for a := range 5 {
		if !pairs {
			m[fmt.Sprintf("%s[gpu%d]", check, a)] = what
			continue
		}
		for b := range 5 {
			if a != b {
				m[fmt.Sprintf("%s[gpu%d->gpu%d]", check, a, b)] = what
			}
		}
	}
	return m
}

// kill sends a signal to a process.
func kill(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
}
