package runner

import (
	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/internal/words"
	"github.com/peerproof/peerproof/runner/journal"
)

// repeats keeps account of specs that are run several times, by place in the
// plan.
type repeats struct {
	runs int // of a spec that failed or erred, the first one counted; up to 1: none is repeated
	// outcomes are those of the runs so far of each spec that is repeated.
	outcomes map[int][]verdict.Outcome
	again    map[int]bool // has no verdict now, because it is to run again
}

func newRepeats() repeats {
	return repeats{outcomes: map[int][]verdict.Outcome{}, again: map[int]bool{}}
}

// repeatable says that another run can tell more of a spec that ended so. What
// only follows from something else, or judges the figures and counters of the
// run as it was, would end the same.
func repeatable(s fixtures.Spec, o verdict.Outcome, started bool) bool {
	switch {
	case o.Verdict != verdict.Fail && o.Verdict != verdict.Error, !started, s.Settled != nil:
		return false
	case s.Check.Last, len(s.Check.Inputs) > 0:
		return false
	case o.Code == verdict.BlockedBy, o.Code == verdict.NotRun, o.Code == verdict.GPULost:
		return false
	}
	return true
}

// attempt is the number of a spec's run under way; 0 for the first, so that
// the journal of a run without repeats has none.
func (l *ledger) attempt(i int) int {
	if !l.repeats.again[i] {
		return 0
	}
	return len(l.repeats.outcomes[i]) + 1
}

// repeat has all specs that failed or erred run once more, as long as they have
// runs left and there is sense in it. It says whether there is any such.
func (l *ledger) repeat() bool {
	n := 0
	for i, runs := range l.repeats.outcomes {
		if len(runs) >= l.repeats.runs || l.repeats.again[i] {
			continue
		}
		if _, decided := l.idle(i); !decided {
			l.reopen(i)
			n++
		}
	}
	if n > 0 {
		l.cursor = 0
		l.note("%s", words.Count(n, "spec is run again, because it failed or erred", "specs are run again, because they failed or erred"))
	}
	return n > 0
}

// reopen takes a spec's verdict back.
func (l *ledger) reopen(i int) {
	l.tally(l.verdicts[i], -1)
	l.verdicts[i] = ""
	l.repeats.again[i] = true
}

// settle gives a spec that was to run again the verdict of its runs so far.
func (l *ledger) settle(i int) {
	delete(l.repeats.again, i)
	l.verdicts[i] = verdict.Together(l.repeats.outcomes[i]).Verdict
	l.tally(l.verdicts[i], 1)
}

// takeAgain keeps account of the end of another run. Derived checks judge what
// the first one measured.
func (l *ledger) takeAgain(i int, o verdict.Outcome) {
	l.repeats.outcomes[i] = append(l.repeats.outcomes[i], o)
	l.settle(i)
}

// decide ends a spec that can be decided without running it. One that ran
// before keeps what it has.
func (l *ledger) decide(i int) bool {
	o, decided := l.idle(i)
	switch {
	case !decided:
	case l.repeats.again[i]:
		l.note("%s is not run again: %s", l.plan[i].ID(), o.Message)
		l.settle(i)
	default:
		l.end(i, o, 0)
	}
	return decided
}

// leave ends a spec as not-run.
func (l *ledger) leave(i int, reason string) {
	o := verdict.Errorf(verdict.NotRun, "%s", reason)
	l.write(journal.Event{Type: journal.TypeEnd, Spec: l.plan[i].ID(), Outcome: &o, Attempt: l.attempt(i)})
	if l.repeats.again[i] {
		l.settle(i)
		return
	}
	l.take(i, o)
}

// replayAgain gives the ledger the end of another run, from the journal of the
// run that is resumed.
func (l *ledger) replayAgain(i int, o verdict.Outcome) {
	if o.Code == verdict.NotRun || len(l.repeats.outcomes[i]) == 0 {
		return
	}
	l.reopen(i)
	l.takeAgain(i, o)
	l.trouble.again(l.plan[i], o)
}
