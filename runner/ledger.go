package runner

import (
	"fmt"
	"time"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/runner/journal"
)

// expectations is what the ledger asks of a profile.
type expectations interface {
	Requires(specID string) bool
	Waive(specID, code string, began time.Time) (verdict.Waiver, bool)
}

// patience is how long the parent waits.
type patience struct {
	spec  time.Duration // for a spec or a question of discovery, where nothing else is said
	quiet time.Duration // for a child that starts, builds a tree or gives the node back
	// reap is for a killed child to be gone. A driver call that cannot be
	// interrupted keeps it for ever.
	reap time.Duration
}

var usualPatience = patience{spec: 30 * time.Second, quiet: 30 * time.Second, reap: 10 * time.Second}

// ledger holds the plan and the verdict of each of its specs. All that ends a
// spec goes through it, and through it into the journal.
type ledger struct {
	journal *journal.Writer // nil: nothing is kept
	observe func(journal.Event)
	profile expectations
	began   time.Time // of the run, by which waivers expire
	maxFail int
	waits   patience

	plan     []fixtures.Spec
	verdicts []verdict.Verdict // by place in the plan; "" has none yet
	started  []bool
	tries    []uint8 // how often a run that was then interrupted started it
	cursor   int     // every spec before it has a verdict
	counts   map[verdict.Verdict]int
	failures int // specs that failed or erred
	trouble  *trouble
	repeats  repeats

	xids     []topology.Xid  // seen so far
	inputs   map[string]bool // checks whose figures a derived check of the plan judges
	measured map[int][]verdict.Measurement
	records  map[string]fixtures.Record

	err error // the journal's first
}

func newLedger(w *journal.Writer, observe func(journal.Event)) *ledger {
	return &ledger{
		journal: w, observe: observe, waits: usualPatience, counts: map[verdict.Verdict]int{}, trouble: newTrouble(), repeats: newRepeats(),
		inputs: map[string]bool{}, measured: map[int][]verdict.Measurement{}, records: map[string]fixtures.Record{},
	}
}

// setPlan gives the ledger its specs. They have no verdicts yet.
func (l *ledger) setPlan(plan []fixtures.Spec) {
	l.plan = plan
	l.verdicts = make([]verdict.Verdict, len(plan))
	l.started = make([]bool, len(plan))
	l.tries = make([]uint8, len(plan))
	for _, s := range plan {
		for _, in := range s.Check.Inputs {
			l.inputs[in] = true
		}
	}
}

// write appends an event to the journal and shows it.
func (l *ledger) write(e journal.Event) {
	if l.err != nil {
		return
	}
	if l.journal != nil {
		e, l.err = l.journal.Append(e)
		if l.err != nil {
			return
		}
	}
	if l.observe != nil {
		l.observe(e)
	}
}

func (l *ledger) note(format string, args ...any) {
	l.write(journal.Event{Type: journal.TypeNote, Text: fmt.Sprintf(format, args...)})
}

// sync brings the journal to the disk.
func (l *ledger) sync() {
	if l.journal != nil && l.err == nil {
		l.err = l.journal.Sync()
	}
}

// start says that a spec begins.
func (l *ledger) start(i int) {
	l.started[i] = true
	l.write(journal.Event{Type: journal.TypeStart, Spec: l.plan[i].ID(), Attempt: l.attempt(i)})
}

// step says what a spec does.
func (l *ledger) step(i int, text string) {
	l.write(journal.Event{Type: journal.TypeStep, Spec: l.plan[i].ID(), Text: text, Attempt: l.attempt(i)})
}

// measure takes a figure of a spec that runs.
func (l *ledger) measure(i int, m verdict.Measurement) {
	s := l.plan[i]
	attempt := l.attempt(i)
	if l.inputs[s.Check.ID] && attempt == 0 {
		l.measured[i] = append(l.measured[i], m)
	}
	l.write(journal.Event{Type: journal.TypeMeasure, Spec: s.ID(), Measurement: &m, Attempt: attempt})
}

// end gives a spec its verdict, after took where it ran.
func (l *ledger) end(i int, o verdict.Outcome, took time.Duration) {
	if l.verdicts[i] != "" {
		return // the first one counts
	}
	s := l.plan[i]
	o = l.waived(s, l.required(s, o))
	attempt := l.attempt(i)
	l.write(journal.Event{Type: journal.TypeEnd, Spec: s.ID(), Outcome: &o, Seconds: took.Seconds(), Attempt: attempt})
	if attempt == 0 {
		l.take(i, o)
	} else {
		l.takeAgain(i, o)
	}
	for _, n := range l.trouble.ended(s, o) {
		l.note("%s", n)
	}
}

// take keeps account of a verdict.
func (l *ledger) take(i int, o verdict.Outcome) {
	s := l.plan[i]
	l.verdicts[i] = o.Verdict
	l.tally(o.Verdict, 1)
	if l.repeats.runs > 1 && repeatable(s, o, l.started[i]) {
		l.repeats.outcomes[i] = []verdict.Outcome{o}
	}
	if l.inputs[s.Check.ID] {
		// A waiver excuses the spec; it does not mend what others judge.
		l.records[s.ID()] = fixtures.Record{Outcome: o.Unwaived(), Measurements: l.measured[i]}
		delete(l.measured, i)
	}
}

// tally counts a verdict, or takes it back.
func (l *ledger) tally(v verdict.Verdict, by int) {
	l.counts[v] += by
	if v == verdict.Fail || v == verdict.Error {
		l.failures += by
	}
}

// required turns the skip of something that the profile requires into a fail.
func (l *ledger) required(s fixtures.Spec, o verdict.Outcome) verdict.Outcome {
	if o.Verdict == verdict.Skip && l.profile != nil && l.profile.Requires(s.ID()) {
		return verdict.Outcome{
			Verdict: verdict.Fail, Code: verdict.RequiredSkip, Hint: o.Hint,
			Message: fmt.Sprintf("the profile requires it, and it was skipped as %s: %s", o.Code, o.Message),
		}
	}
	return o
}

// waived has the profile's waivers excuse a failure.
func (l *ledger) waived(s fixtures.Spec, o verdict.Outcome) verdict.Outcome {
	if l.profile == nil || o.Verdict != verdict.Fail && o.Verdict != verdict.Error {
		return o
	}
	if w, ok := l.profile.Waive(s.ID(), o.Code, l.began); ok {
		return o.Waive(w)
	}
	return o
}

// full says that as many specs failed or erred as --maxfail allows.
func (l *ledger) full() bool { return l.maxFail > 0 && l.failures >= l.maxFail }

// idle is the outcome of a spec that is decided without running it.
func (l *ledger) idle(i int) (verdict.Outcome, bool) {
	s := l.plan[i]
	if s.Settled != nil {
		return *s.Settled, true
	}
	if l.tries[i] >= maxTries {
		return verdict.Errorf(verdict.Crash, "it was running each of the %d times that this run was cut off", l.tries[i]), true
	}
	return l.trouble.verdict(s)
}

// maxTries is how often a spec is begun by a run that is then cut off (a
// reboot, a killed parent) before it is held to be the cause.
const maxTries = 2

// next ends what is decided without running, in the order of the plan, and
// returns the place of the first spec to run; len(plan) if there is none.
func (l *ledger) next() int {
	for ; l.cursor < len(l.plan) && !l.full() && l.err == nil; l.cursor++ {
		if l.verdicts[l.cursor] != "" {
			continue
		}
		if !l.decide(l.cursor) {
			return l.cursor
		}
	}
	return len(l.plan)
}

// before ends what stands before place i and is decided without running. It
// keeps the journal in the order of the plan while a child goes through it.
func (l *ledger) before(i int) {
	for ; l.cursor < i && !l.full(); l.cursor++ {
		if l.verdicts[l.cursor] != "" {
			continue
		}
		if !l.decide(l.cursor) {
			return
		}
	}
}

// rest ends every spec that has no verdict as not-run. No waiver covers that:
// nothing is known of such a spec.
func (l *ledger) rest(reason string) {
	for i := range l.plan {
		if l.verdicts[i] == "" {
			l.leave(i, reason)
		}
	}
}

// earlier is what the remaining derived checks among specs judge.
func (l *ledger) earlier(specs []fixtures.Spec) map[string]fixtures.Record {
	wanted := map[string]bool{}
	for _, s := range specs {
		for _, in := range s.Check.Inputs {
			wanted[in] = true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	records := map[string]fixtures.Record{}
	for i, s := range l.plan {
		if l.verdicts[i] != "" && wanted[s.Check.ID] {
			if r, ok := l.records[s.ID()]; ok {
				records[s.ID()] = r
			}
		}
	}
	return records
}

// startedSpecs are the specs that were started so far.
func (l *ledger) startedSpecs() []fixtures.Spec {
	var specs []fixtures.Spec
	for i, s := range l.plan {
		if l.started[i] {
			specs = append(specs, s)
		}
	}
	return specs
}

// exit is the exit code of a run that was not interrupted.
func (l *ledger) exit() int {
	switch {
	case l.counts[verdict.Fail]+l.counts[verdict.Error] > 0:
		return ExitFail
	case l.counts[verdict.Pass]+l.counts[verdict.Waived] == 0:
		return ExitNothing
	default:
		return ExitPass
	}
}
