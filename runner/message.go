package runner

import (
	"fmt"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
)

// The kinds of task, as the journal names them.
const (
	taskDiscover = "discover"
	taskSpecs    = "specs"
	taskIsolated = "isolated"
)

// task is what a child is told on its standard input. Where there is a plan,
// the inventory follows it: a topology.Node, encoded once for all children.
type task struct {
	Kind        string `json:"kind"`
	Node        string `json:"node,omitempty"`
	NodeText    string `json:"node_text,omitempty"`
	Profile     string `json:"profile,omitempty"`
	ProfileText string `json:"profile_text,omitempty"`
	Loopback    bool   `json:"loopback,omitempty"`

	// Skip is what discovery must not ask again, and why.
	Skip map[string]string `json:"skip,omitempty"`

	// Role is what a helper is for.
	Role string `json:"role,omitempty"`

	// Visible are the slots that the child may see; nil: all.
	Visible []int                      `json:"visible,omitempty"`
	Plan    []batch                    `json:"plan,omitempty"`
	Started []batch                    `json:"started,omitempty"` // before it; see remember
	Earlier map[string]fixtures.Record `json:"earlier,omitempty"`
	GivenUp map[int]string             `json:"given_up,omitempty"` // slots, and why

	// What the run saw, for checks of the whole run.
	Xids       []topology.Xid       `json:"xids,omitempty"`
	XidSources *topology.XidSources `json:"xid_sources,omitempty"`
}

func (t *task) simulated() bool { return t.Node != "" || t.NodeText != "" }

// batch is specs of one check, compactly: on a rack of 72 GPUs there are
// tens of thousands.
type batch struct {
	Check string `json:"check"`
	GPUs  []int  `json:"gpus"` // From and To of each subject
}

// batches packs specs, keeping their order.
func batches(specs []fixtures.Spec) []batch {
	var all []batch
	for _, s := range specs {
		if n := len(all); n == 0 || all[n-1].Check != s.Check.ID {
			all = append(all, batch{Check: s.Check.ID})
		}
		last := &all[len(all)-1]
		last.GPUs = append(last.GPUs, s.Subject.From, s.Subject.To)
	}
	return all
}

// specs unpacks a batch with the checks of a catalogue.
func (b batch) specs(catalogue *fixtures.Catalogue) ([]fixtures.Spec, error) {
	check, ok := catalogue.Check(b.Check)
	if !ok || len(b.GPUs)%2 != 0 {
		return nil, fmt.Errorf("task: no check %q here, or half a subject", b.Check)
	}
	specs := make([]fixtures.Spec, 0, len(b.GPUs)/2)
	for i := 0; i < len(b.GPUs); i += 2 {
		specs = append(specs, fixtures.Spec{Check: check, Subject: fixtures.Subject{Kind: check.Kind, From: b.GPUs[i], To: b.GPUs[i+1]}})
	}
	return specs, nil
}

// kind says what a message tells.
type kind string

const (
	msgQuestion kind = "q" // Text is its key; Call is set once it is answered
	msgNode     kind = "n" // Node
	msgTree     kind = "t" // the tree whose first spec is Spec, of Count specs, is about to be built
	msgStart    kind = "b" // Spec begins
	msgStep     kind = "s" // Text
	msgMeasure  kind = "m" // Measurement
	msgEnd      kind = "e" // Outcome, Seconds
	msgSource   kind = "w" // Text: the bus id of a GPU whose NVML events are watched, if Call says so
	msgReady    kind = "y" // all sources were told; Private: children watch themselves
	msgXid      kind = "z" // Xid
	msgReplace  kind = "r" // Text: why the child is of no more use; it waits to be killed
	msgDone     kind = "d" // everything was run and given back
	msgFailed   kind = "x" // Text: why the task could not be done
)

// message is one line from a child, on its file descriptor 3.
type message struct {
	Kind        kind                 `json:"k"`
	Spec        int                  `json:"i,omitempty"` // place in the task's plan
	Count       int                  `json:"c,omitempty"`
	Text        string               `json:"t,omitempty"`
	Call        *topology.Call       `json:"a,omitempty"`
	Node        *topology.Node       `json:"n,omitempty"`
	Measurement *verdict.Measurement `json:"m,omitempty"`
	Outcome     *verdict.Outcome     `json:"o,omitempty"`
	Xid         *topology.Xid        `json:"z,omitempty"`
	Private     bool                 `json:"p,omitempty"`
	Seconds     float64              `json:"s,omitempty"`
}
