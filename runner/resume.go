package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/internal/files"
	"github.com/peerproof/peerproof/runner/journal"
)

// past is what the journal of an interrupted run tells.
type past struct {
	run      *journal.Run
	began    time.Time
	node     *topology.Node
	checks   []journal.Check
	ends     []pastEnd
	open     map[string]bool // started, and not ended
	tries    map[string]uint8
	started  map[string]bool
	measured map[string][]verdict.Measurement
	xids     []topology.Xid
	finish   *journal.Finish
}

// pastEnd is how a spec ended.
type pastEnd struct {
	id      string
	outcome verdict.Outcome
	attempt int // as the journal has it
}

func newPast() *past {
	return &past{open: map[string]bool{}, tries: map[string]uint8{}, started: map[string]bool{}, measured: map[string][]verdict.Measurement{}}
}

// take reads one event.
func (p *past) take(e journal.Event) error {
	switch e.Type {
	case journal.TypeRun:
		p.run, p.began = e.Run, e.Time
	case journal.TypeNode:
		p.node = e.Node
	case journal.TypeCheck:
		if e.Check != nil {
			p.checks = append(p.checks, *e.Check)
		}
	case journal.TypeStart:
		p.open[e.Spec], p.started[e.Spec] = true, true
		if e.Attempt == 0 {
			delete(p.measured, e.Spec)
		}
	case journal.TypeMeasure:
		if e.Measurement != nil && e.Attempt == 0 {
			p.measured[e.Spec] = append(p.measured[e.Spec], *e.Measurement)
		}
	case journal.TypeEnd:
		delete(p.open, e.Spec)
		if e.Outcome != nil {
			p.ends = append(p.ends, pastEnd{e.Spec, *e.Outcome, e.Attempt})
		}
	case journal.TypeXid:
		if e.Xid != nil {
			p.xids = append(p.xids, *e.Xid)
		}
	case journal.TypeResume:
		p.cutOff()
		p.finish = nil
	case journal.TypeFinish:
		p.finish = e.Finish
	case journal.TypeQuestion, journal.TypeChild, journal.TypeChildEnd, journal.TypeTree, journal.TypeStep,
		journal.TypeReplace, journal.TypeNote:
	}
	return nil
}

// cutOff takes note that the run went down while some specs were running.
func (p *past) cutOff() {
	for id := range p.open {
		p.tries[id]++
	}
	clear(p.open)
}

// resume opens the folder of a run that was interrupted.
func (r *run) resume() error {
	refuse := func(format string, args ...any) error {
		return &UsageError{fmt.Errorf("--resume %s: "+format, append([]any{r.options.Resume}, args...)...)}
	}
	if r.options.Out != "" {
		return refuse("goes on in that folder; expected no --out %s with it", r.options.Out)
	}
	r.dir = r.options.Resume
	p := newPast()
	var broken *journal.BrokenError
	w, err := journal.Resume(filepath.Join(r.dir, JournalFile), p.take)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse("holds no %s; expected the folder of a run", JournalFile)
	case errors.As(err, &broken):
		return refuse("line %d of its %s %s; expected it as the run wrote it: report makes reports of what can be read, a new run tests all again",
			broken.Line, JournalFile, broken.What)
	case errors.Is(err, journal.ErrInUse):
		return refuse("%v; expected one that has stopped", journal.ErrInUse)
	case err != nil:
		return refuse("%s; expected the folder of a run that was interrupted", files.Cause(err).Error())
	}
	host, _ := os.Hostname() // the kernel always has one
	switch {
	case p.run == nil:
		err = refuse("its journal is empty; expected the folder of a run that was interrupted")
	case p.finish != nil && p.finish.Reason != reasonInterrupted:
		err = refuse("that run has ended (%s); expected one that was interrupted: report makes its reports again", p.finish.Reason)
	case !p.run.Simulated && p.run.Host != host:
		err = refuse("that run tests %s, and this is %s; expected the machine that it began on", p.run.Host, host)
	default:
		r.input, err = read(*p.run)
	}
	if err != nil {
		return errors.Join(err, w.Close())
	}
	p.cutOff()
	r.past = p
	r.ledger = newLedger(w, r.options.Observe)
	r.ledger.began = p.began
	r.ledger.write(journal.Event{Type: journal.TypeResume, Text: "by " + r.options.Tool})
	return nil
}

// replay gives the ledger what the specs of the past ended in. Those that were
// not run are run now. A plan that differs from the journal's is refused.
func (p *past) replay(l *ledger, checks []journal.Check) error {
	if len(p.checks) > len(checks) {
		return errors.New("resume: the journal plans checks that this program does not have")
	}
	for i, c := range p.checks {
		if c.ID != checks[i].ID || !slices.Equal(c.Subjects, checks[i].Subjects) {
			return fmt.Errorf("resume: the journal's plan has %s where this program's has %s: it was made by another version", c.ID, checks[i].ID)
		}
	}
	l.xids = p.xids
	places := make(map[string]int, len(l.plan))
	for i, s := range l.plan {
		places[s.ID()] = i
		l.started[i] = p.started[s.ID()]
		l.tries[i] = p.tries[s.ID()]
	}
	for _, e := range p.ends {
		i, ok := places[e.id]
		if ok && e.attempt > 0 {
			l.replayAgain(i, e.outcome)
			continue
		}
		if !ok || l.verdicts[i] != "" || e.outcome.Code == verdict.NotRun {
			continue
		}
		if l.inputs[l.plan[i].Check.ID] {
			l.measured[i] = p.measured[e.id]
		}
		l.take(i, e.outcome)
		l.trouble.again(l.plan[i], e.outcome)
	}
	return nil
}

// again takes note of how a spec ended before the run was resumed.
func (t *trouble) again(s fixtures.Spec, o verdict.Outcome) {
	t.ended(s, o)
	switch {
	case o.Code == verdict.Hang, s.Check.HangCode != "" && o.Code == s.Check.HangCode:
		t.hung(s.Subject)
	case o.Code == verdict.Crash:
		t.crashed(s.Subject)
	}
}
