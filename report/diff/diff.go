// Package diff says what changed between two runs: what fails now and did not
// before, what is slower beyond its noise, and which part of the server is
// another one. It is a pure function of two results.
package diff

import (
	"time"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

// Version is the version of the JSON document.
const Version = 1

// Diff is what changed between a run and a later one.
type Diff struct {
	Version int  `json:"version"`
	Before  Side `json:"before"`
	After   Side `json:"after"`
	// Worse says that something got worse: a spec fails that did not, one is
	// no longer tested, a figure is worse beyond its noise, a GPU is gone.
	Worse bool `json:"worse"`
	// Void says that one of the runs has a caveat: that nothing got worse
	// could not be said of it.
	Void bool `json:"void"`
	// Changes are of the runs and of the node.
	Changes []Change `json:"changes"`

	New     []Spec `json:"new"`     // fail or err now, and did not before
	Lost    []Spec `json:"lost"`    // passed, failed or erred before; skipped or not run now
	Changed []Spec `json:"changed"` // fail or err as before, with another verdict or code
	Still   []Spec `json:"still"`   // fail or err as before
	Waived  []Spec `json:"waived"`  // fail or err now under a waiver, and did not before
	Fixed   []Spec `json:"fixed"`   // failed or erred before, waived or not, and pass now
	Gained  []Spec `json:"gained"`  // skipped or not run before, and pass now

	Figures []Figure `json:"figures"` // that moved beyond their noise, the worst first
	// Compared is how many figures were held against each other.
	Compared int `json:"figures_compared"`

	OnlyBefore []string `json:"only_before"` // ids that the later run does not have
	OnlyAfter  []string `json:"only_after"`
}

// Side is one of the two runs.
type Side struct {
	Run      string          `json:"run"`
	Tool     string          `json:"tool"`
	Host     string          `json:"host"`
	Started  time.Time       `json:"started"`
	Marks    string          `json:"marks,omitempty"` // SIMULATED, LOOPBACK
	Profile  string          `json:"profile"`
	Preset   string          `json:"preset"`
	Verdict  verdict.Verdict `json:"verdict"`
	Caveat   string          `json:"caveat,omitempty"` // why the verdict is none: report.Results.Caveat
	Exit     int             `json:"exit"`
	Counts   report.Counts   `json:"counts"`
	Warnings []string        `json:"warnings,omitempty"`
}

// Spec is one spec's outcome in both runs.
type Spec struct {
	ID      string  `json:"id"`
	Before  Outcome `json:"before"`
	After   Outcome `json:"after"`
	Message string  `json:"message,omitempty"` // of the later run, of the earlier one where that one passed
}

// Outcome is a verdict and its code.
type Outcome struct {
	Verdict verdict.Verdict `json:"verdict"`
	Code    string          `json:"code,omitempty"`
}

// Compare finds what changed from one run to a later one.
func Compare(before, after *report.Results) *Diff {
	d := &Diff{
		Version: Version, Before: side(before), After: side(after),
		Changes: append(runChanges(before, after), nodeChanges(before.Node, after.Node)...),
	}
	d.Void = d.Before.Caveat+d.After.Caveat != ""
	d.specs(before, after)
	d.nonNil()
	d.Worse = len(d.New) > 0 || len(d.Lost) > 0
	for i := range d.Figures {
		d.Worse = d.Worse || d.Figures[i].Worse
	}
	for i := range d.Changes {
		d.Worse = d.Worse || d.Changes[i].Worse
	}
	return d
}

func side(r *report.Results) Side {
	preset := r.Run.Preset
	if preset == "" {
		preset = "acceptance"
	}
	return Side{
		Run: r.Run.ID, Tool: r.Run.Tool, Host: r.Run.Host, Started: r.Run.Started, Marks: r.Run.Marks(), Profile: r.Run.Profile,
		Preset: preset, Verdict: r.Verdict, Caveat: r.Caveat(), Exit: r.Exit, Counts: r.Counts, Warnings: r.Warnings,
	}
}

// specs compares those that both runs have, in the later run's order.
func (d *Diff) specs(before, after *report.Results) {
	earlier := make(map[string]*report.Spec, len(before.Specs))
	for i := range before.Specs {
		earlier[before.Specs[i].ID] = &before.Specs[i]
	}
	for i := range after.Specs {
		now := &after.Specs[i]
		was := earlier[now.ID]
		if was == nil {
			d.OnlyAfter = append(d.OnlyAfter, now.ID)
			continue
		}
		delete(earlier, now.ID)
		if !after.Live || now.Code != verdict.NotRun { // else its turn may come
			d.enter(was, now)
		}
		d.figures(was, now)
	}
	for i := range before.Specs {
		if id := before.Specs[i].ID; earlier[id] != nil {
			d.OnlyBefore = append(d.OnlyBefore, id)
		}
	}
	sortFigures(d.Figures)
}

// enter puts a spec into the list of what became of it, if it changed.
func (d *Diff) enter(was, now *report.Spec) {
	s := Spec{ID: now.ID, Before: Outcome{was.Verdict, was.Code}, After: Outcome{now.Verdict, now.Code}, Message: now.Message}
	if now.Verdict == verdict.Pass {
		s.Message = was.Message
	}
	switch b, a := stateOf(was), stateOf(now); {
	case b == bad && a == bad && s.Before == s.After:
		d.Still = append(d.Still, s)
	case b == bad && a == bad:
		d.Changed = append(d.Changed, s)
	case a == bad:
		d.New = append(d.New, s)
	case b == a:
	case a == untested:
		d.Lost = append(d.Lost, s)
	case a == excused:
		d.Waived = append(d.Waived, s)
	case b == untested:
		d.Gained = append(d.Gained, s)
	default:
		d.Fixed = append(d.Fixed, s)
	}
}

// state is what a verdict means to who compares two runs.
type state uint8

const (
	good     state = iota
	bad            // failed or erred
	excused        // likewise, under a waiver
	untested       // skipped or not run
)

func stateOf(s *report.Spec) state {
	switch {
	case s.Verdict == verdict.Pass:
		return good
	case s.Verdict == verdict.Waived:
		return excused
	case s.Verdict == verdict.Skip, s.Code == verdict.NotRun:
		return untested
	default:
		return bad
	}
}

// nonNil makes empty lists of those that are nil, for who reads the JSON.
func (d *Diff) nonNil() {
	for _, list := range []*[]Spec{&d.New, &d.Lost, &d.Changed, &d.Still, &d.Waived, &d.Fixed, &d.Gained} {
		if *list == nil {
			*list = []Spec{}
		}
	}
	for _, list := range []*[]string{&d.OnlyBefore, &d.OnlyAfter} {
		if *list == nil {
			*list = []string{}
		}
	}
	if d.Changes == nil {
		d.Changes = []Change{}
	}
	if d.Figures == nil {
		d.Figures = []Figure{}
	}
}
