// Package report turns a journal into documents. Every function is pure: the
// same journal gives the same results.json and JUnit file, on any machine and
// at any later time.
package report

import (
	"time"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
)

// Version is the version of results.json that this package writes.
const Version = 1

// Results is one run's outcome: the whole of results.json.
type Results struct {
	Version int             `json:"version"`
	Run     Run             `json:"run"`
	Verdict verdict.Verdict `json:"verdict"`
	// Exit is the exit code of the run: 0 all good, 1 something failed or
	// erred, 2 interrupted, 5 nothing was tested.
	Exit   int    `json:"exit"`
	Counts Counts `json:"counts"`
	// Warnings say what is wrong with the journal itself: it was cut off, its
	// hash chain is broken. Absent where nothing is.
	Warnings []string `json:"warnings,omitempty"`
	GPUs     []GPU    `json:"gpus"`
	// Node is the inventory, which is a document of its own (node.json); nil
	// where discovery did not come to its end.
	Node *topology.Node `json:"-"`
	// Xids are the errors that the driver reported during the run, as the
	// journal has them; they are no part of results.json.
	Xids []topology.Xid `json:"-"`
	// Unfinished says that the journal has no end: the run goes on, or was cut
	// off.
	Unfinished bool `json:"-"`
	// Live says that a process was still writing the journal: specs that are
	// error not-run may have had no turn yet. It implies Unfinished.
	Live bool `json:"-"`
	// ProfileText and NodeText are the YAML that the run was given; "" for none.
	ProfileText string `json:"-"`
	NodeText    string `json:"-"`
	// Specs stand in the order of the plan. The field is the last one, so
	// that WriteJSON can write it piece by piece.
	Specs []Spec `json:"specs"`
}

// Run says what ran, when and on what.
type Run struct {
	ID      string    `json:"id"`
	Tool    string    `json:"tool"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"` // of a run that was cut off: its last event
	// Paused is how long the run lay still before it was resumed.
	Paused    time.Duration `json:"-"`
	Host      string        `json:"host"`
	Serial    string        `json:"-"` // the server's, "" where it could not be read
	Simulated bool          `json:"simulated"`
	Loopback  bool          `json:"loopback"`
	Node      string        `json:"node"`    // name of the simulated node, "" on real GPUs
	Profile   string        `json:"profile"` // "" where none was given
	Args      []string      `json:"args"`
	// What was selected, for reports that ask; Args has it too.
	Preset  string `json:"-"` // "" is acceptance
	Keyword string `json:"-"` // -k
	Labels  string `json:"-"` // -m
	Only    int    `json:"-"` // how many ids --last-failed named; 0: all were wanted
}

// Took is how long the run was under way: from its start to its end, without
// the time for which it lay still before it was resumed.
func (r *Run) Took() time.Duration { return r.Ended.Sub(r.Started) - r.Paused }

// Counts is how many specs ended in each verdict.
type Counts struct {
	Pass   int `json:"pass"`
	Fail   int `json:"fail"`
	Error  int `json:"error"`
	Skip   int `json:"skip"`
	Waived int `json:"waived"`
}

// Total is the number of specs.
func (c Counts) Total() int { return c.Pass + c.Fail + c.Error + c.Skip + c.Waived }

// Add counts one spec.
func (c *Counts) Add(v verdict.Verdict) {
	switch v {
	case verdict.Pass:
		c.Pass++
	case verdict.Fail:
		c.Fail++
	case verdict.Error:
		c.Error++
	case verdict.Skip:
		c.Skip++
	case verdict.Waived:
		c.Waived++
	}
}

// Verdict is fail if any spec failed, else error if any erred, else pass if
// any passed or was waived, else skip.
func (c Counts) Verdict() verdict.Verdict {
	switch {
	case c.Fail > 0:
		return verdict.Fail
	case c.Error > 0:
		return verdict.Error
	case c.Pass+c.Waived > 0:
		return verdict.Pass
	default:
		return verdict.Skip
	}
}

// GPU is one slot of the inventory.
type GPU struct {
	Slot   string `json:"slot"`
	BusID  string `json:"bus_id"`
	UUID   string `json:"uuid"`
	Serial string `json:"serial"`
	Model  string `json:"model"`
	NUMA   int    `json:"numa"` // -1: unknown
}

// Subject is what a spec is about: two GPUs, the first of an ordered pair in
// From, or one GPU.
type Subject struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	GPU  string `json:"gpu,omitempty"`
}

// Slots are the names of the GPUs, each once.
func (s *Subject) Slots() []string {
	switch {
	case s == nil:
		return nil
	case s.GPU != "":
		return []string{s.GPU}
	case s.From == s.To:
		return []string{s.From}
	default:
		return []string{s.From, s.To}
	}
}

// Spec is one spec's outcome.
type Spec struct {
	ID           string                `json:"id"`
	Text         string                `json:"text"`
	Labels       []string              `json:"labels"`
	Verdict      verdict.Verdict       `json:"verdict"`
	Code         string                `json:"code,omitempty"` // "" for a pass
	Message      string                `json:"message,omitempty"`
	Hint         string                `json:"hint,omitempty"`
	Started      time.Time             `json:"started,omitzero"` // zero where it never ran
	Duration     float64               `json:"duration_s"`       // wall-clock seconds
	Subject      *Subject              `json:"subject,omitempty"`
	Path         string                `json:"path,omitempty"` // path class of a pair
	Measurements []verdict.Measurement `json:"measurements,omitempty"`
	// Waiver covers the failure; set exactly where the verdict is waived, whose
	// code and message are then those of what was waived.
	Waiver *Waiver `json:"waiver,omitempty"`
	// Attempts are all runs of a spec that was repeated, in order, the first
	// one too; absent where it ran once.
	Attempts []Attempt `json:"attempts,omitempty"`
}

// Waiver is an entry of the profile that excuses a failure.
type Waiver = verdict.Waiver

// Attempt is one run of a spec that was repeated.
type Attempt struct {
	Verdict verdict.Verdict `json:"verdict"`
	Code    string          `json:"code,omitempty"`
	Message string          `json:"message,omitempty"`
}

// BadAttempts is how many of the attempts neither passed nor were skipped.
func (s *Spec) BadAttempts() (n int) {
	for _, a := range s.Attempts {
		if a.Verdict != verdict.Pass && a.Verdict != verdict.Skip {
			n++
		}
	}
	return n
}

// Ended is when the spec ended; zero where it never ran.
func (s *Spec) Ended() time.Time {
	if s.Started.IsZero() {
		return time.Time{}
	}
	return s.Started.Add(time.Duration(s.Duration * float64(time.Second)))
}

// Check is the id of the spec's check: what stands before the bracket.
func (s *Spec) Check() string {
	for i := range len(s.ID) {
		if s.ID[i] == '[' {
			return s.ID[:i]
		}
	}
	return s.ID
}

// Area is the part of the id before the slash.
func (s *Spec) Area() string {
	for i := range len(s.ID) {
		if s.ID[i] == '/' {
			return s.ID[:i]
		}
	}
	return s.ID
}

// Figure is the measurement that the verdict rests on: one that misses its
// floor, else the first that has a floor, else the first; nil where nothing
// was measured.
func (s *Spec) Figure() *verdict.Measurement {
	var best *verdict.Measurement
	for i := range s.Measurements {
		switch m := &s.Measurements[i]; {
		case m.Floor > 0 && m.Value < m.Floor:
			return m
		case best == nil || best.Floor == 0 && m.Floor > 0:
			best = m
		}
	}
	return best
}
