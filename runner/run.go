package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/peerproof/peerproof/cuda/sim"
	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/profile"
	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/internal/files"
	"github.com/peerproof/peerproof/internal/words"
	"github.com/peerproof/peerproof/runner/journal"
)

// Names of the files that the runner writes in a run's folder.
const (
	JournalFile = "journal.jsonl"
	NodeFile    = "node.json"
)

// Run does one run and returns its exit code. The error, where there is one,
// says why nothing or not all could be done: a *UsageError with exit 4, an
// *InternalError with exit 3. When ctx ends the run is interrupted: the specs
// that have no verdict end as not-run, reports are written, exit 2.
func Run(ctx context.Context, o Options) (exit int, err error) {
	r, err := prepare(o)
	if err == nil {
		exit, err = r.run(ctx)
	}
	var usage *UsageError
	switch {
	case err == nil:
		return exit, nil
	case errors.As(err, &usage):
		return ExitUsage, err
	default:
		return ExitInternal, &InternalError{err}
	}
}

// Inventory discovers the node in a child, joins it with the profile and
// returns it, without leaving anything behind. Errors are those of Run, and
// ctx's own.
func Inventory(ctx context.Context, o Options) (*topology.Node, error) {
	in, err := read(o.request())
	if err != nil {
		return nil, err
	}
	command, err := o.command()
	if err != nil {
		return nil, &InternalError{err}
	}
	node, err := newLedger(nil, o.Observe).discover(ctx, command, in.task, o.Timeout)
	if errors.Is(err, errInterrupted) {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, &InternalError{err}
	}
	return in.profile.Join(node), nil
}

// input is what a run was asked, read and found good.
type input struct {
	request   journal.Run
	selection fixtures.Selection
	profile   *profile.Profile
	task      task // what every child is told
}

// request is the options as the journal keeps them.
func (o *Options) request() journal.Run {
	return journal.Run{
		Tool: o.Tool, Args: o.Args,
		Simulated: o.Node != "" || o.NodeText != "", Node: o.Node, NodeText: o.NodeText,
		Profile: o.Profile, ProfileText: o.ProfileText,
		Loopback: o.Selection.Loopback, Keyword: o.Selection.Keyword, Labels: o.Selection.Labels,
		Preset: o.Selection.Preset, Only: sorted(o.Selection.Only),
		MaxFail: o.MaxFail, Timeout: o.Timeout,
	}
}

// sorted are the ids of a selection; nil where it does not go by ids, which is
// other than that there are none.
func sorted(only map[string]bool) []string {
	if only == nil {
		return nil
	}
	return append([]string{}, slices.Sorted(maps.Keys(only))...)
}

// read checks all that can be checked before anything is run or written.
func read(request journal.Run) (*input, error) {
	if err := fixtures.Default.Err(); err != nil {
		return nil, &InternalError{fmt.Errorf("the catalogue of checks is wrong: %w", err)}
	}
	in := &input{
		request: request,
		selection: fixtures.Selection{
			Keyword: request.Keyword, Labels: request.Labels, Preset: request.Preset, Loopback: request.Loopback,
		},
		task: task{
			Node: request.Node, NodeText: request.NodeText, Profile: request.Profile, ProfileText: request.ProfileText,
			Loopback: request.Loopback,
		},
	}
	if request.Only != nil {
		in.selection.Only = map[string]bool{}
		for _, id := range request.Only {
			in.selection.Only[id] = true
		}
	}
	if err := in.selection.Err(); err != nil {
		return nil, &UsageError{err}
	}
	switch {
	case request.MaxFail < 0:
		return nil, &UsageError{fmt.Errorf("--maxfail %d: expected 0 or more", request.MaxFail)}
	case request.Timeout < 0:
		return nil, &UsageError{fmt.Errorf("--timeout %s: expected more than 0", request.Timeout)}
	}
	in.request.Host, _ = os.Hostname() // the kernel always has one
	if request.Simulated {
		file, err := sim.Parse(request.Node, []byte(request.NodeText))
		if err != nil {
			return nil, &UsageError{err}
		}
		in.request.Host = file.Name
	}
	if request.Profile != "" || request.ProfileText != "" {
		var err error
		if in.profile, err = profile.Parse(request.Profile, []byte(request.ProfileText)); err != nil {
			return nil, &UsageError{err}
		}
	}
	return in, nil
}

// command starts a child.
func (o *Options) command() ([]string, error) {
	if len(o.Command) > 0 {
		return o.Command, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return []string{self, "worker"}, nil
}

// run is one run on its way.
type run struct {
	*input
	options Options
	command []string
	dir     string
	ledger  *ledger
	past    *past // of the run that is resumed; nil for a new one
}

// prepare opens the folder of a run, a new one or one to resume.
func prepare(o Options) (*run, error) {
	command, err := o.command()
	if err != nil {
		return nil, err
	}
	r := &run{options: o, command: command}
	if o.Resume != "" {
		return r, r.resume()
	}
	if r.input, err = read(o.request()); err != nil {
		return nil, err
	}
	now := time.Now()
	r.request.ID = now.UTC().Format("20060102T150405Z") + "-" + strings.ToLower(rand.Text()[:8])
	r.dir = o.Out
	if r.dir == "" {
		r.dir = "peerproof-" + fileName(r.request.Host) + "-" + now.Format("20060102-150405")
	}
	usual := r.dir
	event := journal.Event{Type: journal.TypeRun, Run: &r.request}
	w, first, err := createFolder(r.dir, event)
	for n := 2; errors.Is(err, fs.ErrExist) && o.Out == ""; n++ { // another run of this second
		r.dir = fmt.Sprintf("%s-%d", usual, n)
		w, first, err = createFolder(r.dir, event)
	}
	if errors.Is(err, fs.ErrExist) {
		err = errors.New("exists already; expected the name of a folder to make")
	}
	if err != nil {
		return nil, &UsageError{fmt.Errorf("--out %s: %w", r.dir, err)}
	}
	r.ledger = newLedger(w, o.Observe)
	r.ledger.began = first.Time
	if o.Observe != nil {
		o.Observe(first)
	}
	return r, nil
}

// fileName is a host's name as part of a file's.
func fileName(host string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r <= ' ' {
			return '_'
		}
		return r
	}, host)
}

// run takes a prepared run to its end.
func (r *run) run(ctx context.Context) (exit int, err error) {
	r.ledger.profile, r.ledger.maxFail, r.ledger.repeats.runs = r.profile, r.request.MaxFail, r.selection.Runs()
	reason, err := r.specs(ctx)
	switch {
	case err != nil:
		exit, reason = ExitInternal, "internal error"
	case reason == reasonInterrupted:
		exit = ExitInterrupted
	default:
		exit = r.ledger.exit()
	}
	r.ledger.write(journal.Event{Type: journal.TypeFinish, Finish: &journal.Finish{Reason: reason, Exit: exit}})
	err = errors.Join(err, cmp.Or(r.ledger.err, r.ledger.journal.Close()))
	if r.options.Reports != nil {
		if failed := r.options.Reports(r.dir); failed != nil {
			err = errors.Join(err, fmt.Errorf("write reports: %w", failed))
		}
	}
	return exit, err
}

// specs discovers the node, plans, and gives every spec a verdict. It returns
// why the run ended.
func (r *run) specs(ctx context.Context) (reason string, err error) {
	log, why := r.watchLog() // before the first child, which may be what it tells of
	defer log.close()
	node, err := r.node(ctx)
	if errors.Is(err, errInterrupted) {
		return reasonInterrupted, nil
	}
	if err != nil {
		return "", err
	}
	plan, err := fixtures.Default.Plan(node, r.selection)
	if err != nil {
		return "", err
	}
	r.ledger.setPlan(plan)
	checks := describe(plan)
	if r.past != nil {
		if err := r.past.replay(r.ledger, checks); err != nil {
			return "", err
		}
		checks = checks[len(r.past.checks):]
	}
	for i := range checks {
		r.ledger.write(journal.Event{Type: journal.TypeCheck, Check: &checks[i]})
	}
	s, err := newSupervisor(r.ledger, r.command, r.task, node, r.request.Timeout)
	if err != nil {
		return "", err
	}
	s.expected = r.profile
	s.log, s.sources.Log = log, why
	reason, err = s.run(ctx)
	switch {
	case err != nil:
		r.ledger.rest("the harness failed: " + err.Error())
	case reason == reasonInterrupted:
		r.ledger.rest("the run was interrupted")
	case reason == reasonMaxFail:
		r.ledger.rest("the run stopped after " + words.Count(r.ledger.failures, "failure", "failures") + ", as it was told to")
	case reason == reasonStuck:
		r.ledger.rest("a child process is stuck in the kernel and does not die")
	default:
		reason = reasonDone
	}
	return reason, err
}

// watchLog follows the kernel log, or says why it cannot.
func (r *run) watchLog() (log *logWatch, why string) {
	host, err := r.task.host()
	if err == nil {
		log, err = watchLog(host)
	}
	if err != nil {
		return nil, err.Error()
	}
	return log, ""
}

// node is the inventory, joined with the profile: that of the journal, or a
// new one, which is then in node.json.
func (r *run) node(ctx context.Context) (*topology.Node, error) {
	if r.past != nil && r.past.node != nil {
		return r.past.node, nil
	}
	found, err := r.ledger.discover(ctx, r.command, r.task, r.request.Timeout)
	if err != nil {
		return nil, err
	}
	node := r.profile.Join(found)
	text, err := node.Encode()
	if err != nil {
		return nil, err
	}
	if err := renameio.WriteFile(filepath.Join(r.dir, NodeFile), text, 0o644); err != nil {
		return nil, fmt.Errorf("write %s: %w", filepath.Join(r.dir, NodeFile), files.Cause(err))
	}
	r.ledger.write(journal.Event{Type: journal.TypeNode, Node: node})
	return node, nil
}

// describe lists the checks of a plan with their subjects.
func describe(plan []fixtures.Spec) []journal.Check {
	var checks []journal.Check
	for _, s := range plan {
		if n := len(checks); n == 0 || checks[n-1].ID != s.Check.ID {
			c := s.Check
			checks = append(checks, journal.Check{ID: c.ID, Text: c.Text, Labels: c.Labels, Where: c.Where})
		}
		last := &checks[len(checks)-1]
		last.Subjects = append(last.Subjects, strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(s.ID(), s.Check.ID), "["), "]"))
	}
	return checks
}
