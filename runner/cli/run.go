package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/internal/files"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/terminal"
	"github.com/peerproof/peerproof/runner"
)

// runFlags are the flags of run.
type runFlags struct {
	target
	documents
	out, resume string
	first       bool
	maxFail     int
	lastFailed  string
	timeout     time.Duration
	display     displayFlags
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Test the GPUs and leave reports",
		Long: `Run tests the GPUs of this server, or a simulated node, and leaves a folder with
journal.jsonl (everything, as it happened), node.json (the inventory),
results.json, junit.xml and report.html, which says what to do first. A GPU that
hangs or crashes costs its own specs and never the report.

Presets: gate is the quick subset before a job, acceptance everything but what
is slow, rma everything, where what failed or erred runs until it has three runs
and the worst of them stands.

` + names() + `

The letters of -r are f failed, E errors, s skipped, w waived, p passed, a all
but passed, A all and N none.

Exit codes: 0 all good, 1 something failed or could not be decided,
2 interrupted, 3 internal error, 4 usage, 5 nothing was tested.`,
		Example: `  peerproof run                                the GPUs of this server
  peerproof run --profile hgx-h200-8           held to what the server should have
  peerproof run --preset gate --junitxml r.xml before a CI job
  peerproof run -k "bandwidth and not sm"      only some ids
  peerproof run -m "data && !slow" -x          only some labels, stop at the first failure
  peerproof run --loopback                     a server with one GPU
  peerproof run --node hgx-h200-8              a simulated node
  peerproof run -r A --durations 10            each spec and the slowest in the summary
  peerproof run --last-failed OLD-RUN          what failed there, again
  peerproof run --resume OLD-RUN               go on after a reboot`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd, &f) },
	}
	cmd.Flags().SortFlags = false
	f.target.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.out, "out", "", "the folder to make: `DIR` (default peerproof-HOST-TIME)")
	expect(flags, "out", "a folder that does not exist yet")
	flags.StringVar(&f.resume, "resume", "", "go on with the interrupted run in folder `DIR`")
	expect(flags, "resume", "the folder of an interrupted run")
	flags.BoolVarP(&f.first, "exitfirst", "x", false, "stop at the first spec that fails or errs")
	flags.IntVar(&f.maxFail, "maxfail", 0, "stop after `N` specs that failed or erred")
	expect(flags, "maxfail", "a whole number from 1")
	flags.StringVar(&f.lastFailed, "last-failed", "", "only what failed or erred in the run in folder `DIR`")
	expect(flags, "last-failed", "the folder that a run left")
	flags.DurationVar(&f.timeout, "timeout", 0, "the longest that one spec may take: `D` such as 30s")
	expect(flags, "timeout", "a duration above zero, such as 30s or 2m")
	flags.StringVar(&f.junit, "junitxml", "", "write the JUnit report to `FILE` too")
	expect(flags, "junitxml", "a file to write")
	f.documents.flags(cmd)
	expect(flags, "exitfirst", "true or false")
	f.display.levels(cmd)
	f.display.summary(cmd)
	return cmd
}

// options turns the flags into what the runner is asked.
func (f *runFlags) options(a *app, cmd *cobra.Command) (runner.Options, error) {
	set := func(name string) bool { return cmd.Flags().Changed(name) }
	if set("resume") {
		others := given(cmd, "node", "profile", "keyword", "labels", "preset", "loopback", "out", "exitfirst", "maxfail", "last-failed", "timeout")
		if len(others) > 0 {
			return runner.Options{}, usagef("--resume with %s: expected no other flag that changes the run, it goes on as it began", strings.Join(others, ", "))
		}
		return runner.Options{Tool: tool(), Args: a.args, Resume: f.resume}, nil
	}
	switch {
	case f.first && set("maxfail"):
		return runner.Options{}, usagef("-x with --maxfail: expected one of them, -x is --maxfail 1")
	case set("maxfail") && f.maxFail < 1:
		return runner.Options{}, usagef("--maxfail %d: expected a whole number from 1", f.maxFail)
	case f.first:
		f.maxFail = 1
	}
	if err := positive("--timeout", set("timeout"), f.timeout); err != nil {
		return runner.Options{}, err
	}
	o, err := f.target.options(a)
	if err != nil {
		return o, err
	}
	o.MaxFail, o.Timeout, o.Out = f.maxFail, f.timeout, f.out
	if set("out") && f.out == "" {
		return o, usagef("--out %q: expected the name of a folder to make", f.out)
	}
	if set("last-failed") {
		o.Selection.Only, err = lastFailed(f.lastFailed)
	}
	return o, err
}

func (a *app) run(cmd *cobra.Command, f *runFlags) error {
	display, err := f.display.options(a, cmd)
	if err != nil {
		return err
	}
	o, err := f.options(a, cmd)
	if err != nil {
		return err
	}
	if err := f.check(cmd); err != nil {
		return err
	}
	beFrugal()
	ctx, stop := interrupts(cmd.Context())
	defer stop()

	progress := terminal.NewProgress(a.stdout, display)
	defer progress.Close()
	o.Observe = progress.Event
	if o.Resume != "" {
		if err := replay(o.Resume, progress.Replay); err != nil {
			return usagef("--resume %s: %w", o.Resume, err)
		}
	}
	var written *report.Results
	var files []string
	var folder string
	o.Reports = func(dir string) (err error) {
		folder = dir
		if written, err = results(dir); err != nil {
			return err
		}
		files, err = writeReports(written, dir, f.documents)
		return err
	}
	a.exit, err = runner.Run(ctx, o)
	progress.Close()
	if written != nil {
		note := ""
		if err != nil { // as whoever looks at the last line alone should see
			written.Exit = exitOf(err)
			written.Warnings = append(written.Warnings, "not all could be kept: "+oneText(err))
		}
		if err == nil {
			var archive []string
			archive, note = packByItself(ctx, folder, written)
			files = append(files, archive...)
		}
		// A reader of the output that went away changes no verdict.
		_ = terminal.Summary(a.stdout, written, files, display)
		_, _ = io.WriteString(a.stdout, note)
		a.suggest(written, o.Selection, f.lastFailed)
	}
	return err
}

// suggest tells someone without a GPU how to see the program work, and someone
// whose selection is empty why it is.
func (a *app) suggest(r *report.Results, sel fixtures.Selection, lastFailed string) {
	if r.Exit == runner.ExitNothing && len(r.Specs) == 0 {
		_, _ = fmt.Fprintln(a.stdout, unmatched(sel, lastFailed))
		return
	}
	if r.Exit == runner.ExitNothing && len(r.GPUs) == 0 && !r.Run.Simulated {
		_, _ = fmt.Fprintln(a.stdout, "No NVIDIA GPU was found here. To see a run, test a simulated node: peerproof run --node hgx-h200-8")
	}
}

// oneSignal is how long after a signal another one is the same: timeout(1)
// sends its own to the process, and again to the group of the process.
const oneSignal = time.Second

// interrupts is a context that ends with the first signal that asks the run to
// stop; a later one ends the process at once. A terminal that goes away, or a
// reader of the output, costs no report.
func interrupts(parent context.Context) (context.Context, func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as it is under nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(parent, signals...)
	context.AfterFunc(ctx, func() { time.AfterFunc(oneSignal, stop) })
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE) // writes then fail instead of killing
	return ctx, func() {
		stop()
		signal.Stop(broken)
	}
}

// writable refuses a file that cannot be written at the end of the run.
func writable(flag, path string) error {
	if info, err := os.Stat(path); path == "" || err == nil && !info.Mode().IsRegular() {
		return usagef("%s %q: expected a file, or a name for one", flag, path)
	}
	dir := filepath.Dir(path)
	if err := canMake(dir); err != nil {
		return usagef("%s %s: cannot be written in %s: %w; expected a folder that can be written to", flag, path, dir, err)
	}
	return nil
}

// canMake tries to make something in a folder, and leaves nothing behind.
func canMake(dir string) error {
	file, err := os.CreateTemp(dir, ".peerproof-*")
	if err != nil {
		return files.Cause(err)
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}
