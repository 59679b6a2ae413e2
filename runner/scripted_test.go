package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/runner/journal"
)

// The catalogue of the tests in this process. Nothing runs these bodies: the
// children are shell scripts.
var (
	_ = fixtures.Specify("unit/gpu", fixtures.GPUs, nil, "holds", func(*fixtures.GPU) {}, fixtures.Needs())
	_ = fixtures.Specify("unit/alone", fixtures.OrderedPairs, nil, "holds", func(*fixtures.Pair) {}, fixtures.Isolated)
)

// twoGPUs is what the script of discovery says of a real node, whose CUDA
// order is not that of its slots.
const twoGPUs = `{"k":"n","n":{"version":1,"host":{"name":"h","virtualised":false,"container":false},"driver":{"nvml_gpus":2,"cuda_gpus":2},"gpus":[` +
	`{"slot":0,"bus_id":"0000:18:00.0","uuid":"GPU-a","on_pci":true,"nvml_index":0,"cuda_ordinal":1,"numa":0,"pcie":{},"nvlink_supported":false},` +
	`{"slot":1,"bus_id":"0000:2a:00.0","uuid":"GPU-b","on_pci":true,"nvml_index":1,"cuda_ordinal":0,"numa":0,"pcie":{},"nvlink_supported":false}]}}`

// scripted is a run whose children are a shell script each.
type scripted struct {
	discover, specs, isolated string
	selection                 fixtures.Selection
	timeout                   time.Duration
	patience                  patience
	reports                   func(string) error
}

// good is a child that runs two specs well.
const good = `
say '{"k":"t","i":0,"c":2}'
for i in 0 1; do say '{"k":"b","i":'$i'}'; say '{"k":"e","i":'$i',"o":{"verdict":"pass"}}'; done
say '{"k":"d"}'
`

// run runs it in this process and returns the exit code, the events
// and the error.
func (s scripted) run(t *testing.T, ctx context.Context) (int, []journal.Event, error) {
	t.Helper()
	if s.discover == "" {
		s.discover = "say '" + twoGPUs + "'"
	}
	script := fmt.Sprintf("say() { echo \"$1\" >&3; }\ntask=$(cat)\ncase $task in\n*'\"discover\"'*)\n%s\n;;\n*'\"isolated\"'*)\n%s\n;;\n*)\n%s\n;;\nesac\n",
		s.discover, s.isolated, s.specs)
	var events []journal.Event
	r, err := prepare(Options{
		Command: []string{"sh", "-c", script}, Out: filepath.Join(t.TempDir(), "out"), Selection: s.selection, Timeout: s.timeout,
		Observe: func(e journal.Event) { events = append(events, e) }, Reports: s.reports,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.ledger.waits = patience{spec: 5 * time.Second, quiet: 5 * time.Second, reap: 5 * time.Second}
	if s.patience != (patience{}) {
		r.ledger.waits = s.patience
	}
	exit, err := r.run(ctx)
	return exit, events, err
}

// ends are the outcomes among events, by spec.
func ends(events []journal.Event) map[string]verdict.Outcome {
	m := map[string]verdict.Outcome{}
	for _, e := range events {
		if e.Type == journal.TypeEnd {
			m[e.Spec] = *e.Outcome
		}
	}
	return m
}

func texts(events []journal.Event, is journal.Type) (all []string) {
	for _, e := range events {
		if e.Type == is {
			all = append(all, e.Text)
		}
	}
	return all
}

var gpuSpecs = fixtures.Selection{Keyword: "unit/gpu"}

func TestDiscoveryLeavesOutWhatItDoesNotSurvive(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ fate, says string }{
		"hang":  {"sleep 60", "no answer within 1.5s"},
		"crash": {"kill -SEGV $$", "ended by SIGSEGV"},
		"exit":  {"exit 0", "exited with status 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exit, events, err := scripted{
				discover: `case $task in *'"nvml: init":"'*) say '` + twoGPUs + `';; *) say '{"k":"q","t":"nvml: init"}'; ` + c.fate + `;; esac`,
				specs:    good, selection: gpuSpecs, timeout: 1500 * time.Millisecond,
			}.run(t, t.Context())
			if exit != ExitPass || err != nil {
				t.Fatalf("exit %d, error %v", exit, err)
			}
			notes := texts(events, journal.TypeNote)
			if len(notes) != 1 || !strings.Contains(notes[0], "nvml: init") || !strings.Contains(notes[0], c.says) {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

func TestDiscoveryThatFailsIsAnInternalError(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"exits":            "exit 7",
		"says why":         `say '{"k":"x","t":"the bundle is empty"}'`,
		"hangs in silence": "sleep 60",
		"hangs again":      `say '{"k":"q","t":"x"}'; sleep 60`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reported := ""
			_, events, err := scripted{
				discover: script, timeout: 100 * time.Millisecond, patience: patience{spec: time.Second, quiet: 300 * time.Millisecond, reap: time.Second},
				reports: func(dir string) error { reported = dir; return nil },
			}.run(t, t.Context())
			if err == nil {
				t.Fatal("no error")
			}
			last := events[len(events)-1]
			if last.Type != journal.TypeFinish || last.Finish.Exit != ExitInternal || reported == "" {
				t.Errorf("the last event is %+v, reports in %q", last, reported)
			}
		})
	}
}

func TestInterruptedDiscovery(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	exit, events, err := scripted{discover: "sleep 60"}.run(t, ctx)
	if exit != ExitInterrupted || err != nil || events[len(events)-1].Finish.Reason != reasonInterrupted {
		t.Errorf("exit %d, error %v, last %+v", exit, err, events[len(events)-1])
	}
}

func TestWhatChildrenSayIsNotTrusted(t *testing.T) {
	t.Parallel()
	begin := `say '{"k":"t","i":0,"c":2}'; say '{"k":"b","i":0}'; `
	for name, c := range map[string]struct{ script, code, says string }{
		"rubbish":          {begin + `say 'rubbish'; sleep 60`, verdict.Crash, "rubbish"},
		"another's spec":   {begin + `say '{"k":"e","i":7,"o":{"verdict":"pass"}}'; sleep 60`, verdict.Crash, "SIGKILL"},
		"end with nothing": {begin + `say '{"k":"e","i":0}'; sleep 0.1; exit 1`, verdict.Crash, "children ended before it began"},
		"endless steps":    {begin + `while :; do say '{"k":"s","i":0,"t":"again"}'; done`, verdict.Hang, "again"},
		"silence":          {`sleep 60`, verdict.Crash, "did not go on within"},
		"death":            {`exit 9`, verdict.Crash, "exit status 9"},
		"no tree":          {`say '{"k":"t","i":0,"c":2}'; echo oh dear >&2; exit 1`, verdict.TreePanic, "oh dear"},
		"a tree that hangs": {
			`say '{"k":"t","i":0,"c":2}'; sleep 60`, verdict.TreePanic, "did not go on within",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exit, events, err := scripted{
				// Only the child that is given gpu0 misbehaves.
				specs:     `case $task in *'"gpus":[0,-1'*) ` + c.script + ` ;; *) say '{"k":"b","i":0}'; say '{"k":"e","i":0,"o":{"verdict":"pass"}}';; esac`,
				selection: gpuSpecs, timeout: 2 * time.Second, patience: patience{spec: time.Second, quiet: 2 * time.Second, reap: 2 * time.Second},
			}.run(t, t.Context())
			got := ends(events)
			if o := got["unit/gpu[gpu0]"]; exit != ExitFail || err != nil || o.Verdict != verdict.Error || o.Code != c.code || !strings.Contains(o.Message, c.says) {
				t.Errorf("exit %d, error %v, outcome %+v", exit, err, o)
			}
			if o := got["unit/gpu[gpu1]"]; o.Verdict != verdict.Pass && c.code != verdict.TreePanic {
				t.Errorf("the other: %+v", o)
			}
		})
	}
}

// A limit that the user set is no excuse for a hang that left an Xid.
func TestAHangWithAnXidIsNotBlamedOnTheLimit(t *testing.T) {
	t.Parallel()
	_, events, err := scripted{
		specs: `case $task in *'"gpus":[0,-1'*) say '{"k":"t","i":0,"c":2}'; say '{"k":"b","i":0}'
			say '{"k":"z","z":{"bus_id":"0000:18:00.0","code":119,"source":"nvml"}}'; sleep 60 ;;
			*) say '{"k":"b","i":0}'; sleep 60;; esac`,
		selection: gpuSpecs, timeout: 2 * time.Second,
	}.run(t, t.Context())
	got := ends(events)
	if o := got["unit/gpu[gpu0]"]; err != nil || o.Code != verdict.Hang || !strings.Contains(o.Message, "119") || strings.Contains(o.Hint, "--timeout") {
		t.Errorf("error %v, with an Xid: %+v", err, o)
	}
	if o := got["unit/gpu[gpu1]"]; o.Code != verdict.Hang || !strings.Contains(o.Hint, "--timeout") {
		t.Errorf("without: %+v", o)
	}
}

func TestATaskThatCannotBeDoneIsAnInternalError(t *testing.T) {
	t.Parallel()
	_, events, err := scripted{specs: `say '{"k":"x","t":"no such check"}'; sleep 60`, selection: gpuSpecs}.run(t, t.Context())
	if err == nil || !strings.Contains(err.Error(), "no such check") {
		t.Errorf("error %v", err)
	}
	if o := ends(events)["unit/gpu[gpu1]"]; o.Code != verdict.NotRun {
		t.Errorf("outcome %+v", o)
	}
}

func TestIsolatedChildrenSeeTheirGPUsOnly(t *testing.T) {
	t.Parallel()
	exit, events, err := scripted{
		isolated: `say '{"k":"t","i":0,"c":1}'; say '{"k":"b","i":0}'
			say '{"k":"s","i":0,"t":"'"$CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER $CUDA_MODULE_LOADING"'"}'
			say '{"k":"e","i":0,"o":{"verdict":"pass"}}'; say '{"k":"d"}'`,
		selection: fixtures.Selection{Keyword: "unit/alone"},
	}.run(t, t.Context())
	if exit != ExitPass || err != nil {
		t.Fatalf("exit %d, error %v, %+v", exit, err, ends(events))
	}
	// In the order in which CUDA numbers them, whichever comes first in the id.
	want := []string{"GPU-b,GPU-a PCI_BUS_ID EAGER", "GPU-b,GPU-a PCI_BUS_ID EAGER"}
	if got := texts(events, journal.TypeStep); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	children := 0
	for _, e := range events {
		if e.Type == journal.TypeChild && e.Child.Task == taskIsolated && e.Child.Specs == 1 {
			children++
		}
	}
	if children != 2 {
		t.Errorf("%d isolated children", children)
	}
}

func TestAnIsolatedChildThatDiesIsTriedAgain(t *testing.T) {
	t.Parallel()
	exit, events, err := scripted{
		isolated:  `exit 9`,
		selection: fixtures.Selection{Keyword: "unit/alone"},
	}.run(t, t.Context())
	if exit != ExitFail || err != nil {
		t.Fatalf("exit %d, error %v", exit, err)
	}
	for _, id := range []string{"unit/alone[gpu0->gpu1]", "unit/alone[gpu1->gpu0]"} {
		if o := ends(events)[id]; o.Code != verdict.Crash || !strings.Contains(o.Message, "3 children") {
			t.Errorf("%s: %+v", id, o)
		}
	}
}

func TestAChildThatDoesNotDieEndsTheRun(t *testing.T) {
	t.Parallel()
	node, err := decodeNode(twoGPUs)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := fixtures.Default.Plan(node, gpuSpecs)
	if err != nil {
		t.Fatal(err)
	}
	var events []journal.Event
	l := newLedger(nil, func(e journal.Event) { events = append(events, e) })
	l.waits = patience{spec: 50 * time.Millisecond, quiet: time.Second, reap: 50 * time.Millisecond}
	l.setPlan(plan)
	s, err := newSupervisor(l, []string{"sh", "-c", `echo '{"k":"b","i":0}' >&3; exec sleep 60`}, task{}, node, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := s.start([]int{0, 1}, nil)
	if w == nil {
		t.Fatal(s.failure)
	}
	defer w.child.kill()
	w.child.reaped.Store(true) // so that kill has no effect, as on a process that is stuck in the kernel
	for s.live[w.child] != nil {
		s.wait(t.Context())
	}
	w.child.reaped.Store(false)
	if s.stop != reasonStuck {
		t.Errorf("stopped for %q", s.stop)
	}
	if o := ends(events)["unit/gpu[gpu0]"]; o.Code != verdict.Hang {
		t.Errorf("outcome %+v", o)
	}
	if stopped, err := s.run(t.Context()); stopped != reasonStuck || err != nil || l.verdicts[1] != "" {
		t.Errorf("run: %q, %v, %v", stopped, err, l.verdicts)
	}
}

func TestReportsThatCannotBeWrittenAreAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("no space left on device")
	_, events, err := scripted{specs: good, selection: gpuSpecs, reports: func(dir string) error {
		if _, err := os.Stat(filepath.Join(dir, NodeFile)); err != nil {
			t.Error(err)
		}
		return broken
	}}.run(t, t.Context())
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if last := events[len(events)-1]; last.Type != journal.TypeFinish {
		t.Errorf("the last event is %+v", last)
	}
}

func TestAJournalThatCannotBeWrittenEndsTheRun(t *testing.T) {
	t.Parallel()
	r, err := prepare(Options{Command: []string{"sh", "-c", "cat >/dev/null; sleep 60"}, Out: filepath.Join(t.TempDir(), "out")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.ledger.journal.Append(journal.Event{Type: journal.TypeNote}); err != nil {
		t.Fatal(err)
	}
	node, err := decodeNode(twoGPUs)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := fixtures.Default.Plan(node, fixtures.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	r.ledger.setPlan(plan)
	r.ledger.err = errors.New("write journal: no space left on device")
	s, err := newSupervisor(r.ledger, r.command, r.task, node, 0)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := s.run(t.Context()); err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("error %v after %s", err, time.Since(began))
	}
}

func TestAProgramThatIsNotThereIsAnInternalError(t *testing.T) {
	t.Parallel()
	exit, err := Run(t.Context(), Options{Command: []string{"/nonexistent"}, Out: filepath.Join(t.TempDir(), "out")})
	var internal *InternalError
	if exit != ExitInternal || !errors.As(err, &internal) {
		t.Errorf("exit %d, error %v", exit, err)
	}
}
