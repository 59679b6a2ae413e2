package report

import (
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/runner/journal"
)

// repeated is a spec that was run again, beside its first run.
type repeated struct {
	now      Spec // the run under way: Started and Measurements
	runs     []Spec
	outcomes []verdict.Outcome
}

// again folds an event of a run of spec i that is not its first.
func (b *builder) again(i int, e *journal.Event) {
	r := b.repeats[i]
	if r == nil {
		r = &repeated{}
		b.repeats[i] = r
	}
	switch e.Type {
	case journal.TypeStart:
		r.now = Spec{Started: e.Time}
	case journal.TypeMeasure:
		if e.Measurement != nil {
			r.now.Measurements = append(r.now.Measurements, b.figure(e.Measurement))
		}
	case journal.TypeEnd:
		if e.Outcome == nil || e.Outcome.Code == verdict.NotRun { // the run was stopped meanwhile
			return
		}
		r.now.Duration = e.Seconds
		b.outcome(&r.now, e.Outcome)
		r.runs = append(r.runs, r.now)
		r.outcomes = append(r.outcomes, *e.Outcome)
		r.now = Spec{}
	default:
	}
}

// together gives spec i, whose first run it holds, what all its runs come to:
// outcome, time and figures of the run that stands, and the list of all.
func (r *repeated) together(s *Spec) {
	if len(r.runs) == 0 {
		return
	}
	runs := append([]Spec{*s}, r.runs...)
	outcomes := append([]verdict.Outcome{{Verdict: s.Verdict, Code: s.Code, Message: s.Message}}, r.outcomes...)
	for i := range runs {
		s.Attempts = append(s.Attempts, Attempt{Verdict: runs[i].Verdict, Code: runs[i].Code, Message: runs[i].Message})
	}
	stands := runs[verdict.Standing(outcomes)]
	s.Verdict, s.Code, s.Hint, s.Waiver = stands.Verdict, stands.Code, stands.Hint, stands.Waiver
	s.Started, s.Duration, s.Measurements = stands.Started, stands.Duration, stands.Measurements
	s.Message = verdict.Together(outcomes).Message
}
