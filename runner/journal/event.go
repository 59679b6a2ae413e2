// Package journal is one run as data: an append-only file of JSON lines, one
// an event, each with a sequence number and the hash of the line before it.
// Every report is built from it alone.
package journal

import (
	"time"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
)

// Type says what an event tells.
type Type string

// The events of a run, in the order in which they usually come.
const (
	TypeRun      Type = "run"       // Run: the first line
	TypeQuestion Type = "question"  // discovery is about to ask, or has the answer (Text, Question)
	TypeNode     Type = "node"      // Node: the inventory
	TypeCheck    Type = "check"     // Check: one check of the plan, with its subjects
	TypeChild    Type = "child"     // Child: a child started
	TypeChildEnd Type = "child-end" // Child: and how it ended
	TypeTree     Type = "tree"      // Spec holds the id of a check whose tree is about to be built
	TypeStart    Type = "start"     // Spec begins
	TypeStep     Type = "step"      // Text: progress of Spec
	TypeMeasure  Type = "measure"   // Measurement of Spec
	TypeEnd      Type = "end"       // Outcome of Spec
	TypeReplace  Type = "replace"   // the child asks to be replaced, for the reason in Text (never written for another reason)
	TypeXid      Type = "xid"       // Xid: the driver reported an error of a GPU
	TypeNote     Type = "note"      // Text: what the supervisor decided (a subject given up, …)
	// TypeResume: the run goes on after an interruption, also after the finish
	// event of an interrupted run. Specs that had ended as not-run, or not at
	// all, may start and end again: the last end of a spec's first run counts.
	TypeResume Type = "resume"
	TypeFinish Type = "finish" // Finish: the last line, unless the run is resumed
)

// Event is one line. Which fields are set depends on Type.
type Event struct {
	Seq  uint64    `json:"seq"`
	Prev string    `json:"prev"` // hex SHA-256 of the line before, without its newline; "" in the first
	Time time.Time `json:"time"`
	Type Type      `json:"type"`

	Spec        string               `json:"spec,omitempty"` // spec id (check id for TypeTree)
	Text        string               `json:"text,omitempty"`
	Run         *Run                 `json:"run,omitempty"`
	Question    *Question            `json:"question,omitempty"`
	Node        *topology.Node       `json:"node,omitempty"`
	Check       *Check               `json:"check,omitempty"`
	Child       *Child               `json:"child,omitempty"`
	Measurement *verdict.Measurement `json:"measurement,omitempty"`
	Outcome     *verdict.Outcome     `json:"outcome,omitempty"`
	Xid         *topology.Xid        `json:"xid,omitempty"`
	Seconds     float64              `json:"seconds,omitempty"` // how long the spec ran, wall-clock
	Finish      *Finish              `json:"finish,omitempty"`
	// Attempt is the number of the run of Spec that a start, step, measure or
	// end belongs to, from 2 on where a spec that failed or erred is run again;
	// 0 for the first. Their outcomes are each run's own (verdict.Together).
	Attempt int `json:"attempt,omitempty"`
}

// Run is what a run was asked to do; enough to resume it on the same machine
// without the files that it was given.
type Run struct {
	ID          string        `json:"id"`
	Tool        string        `json:"tool"` // "peerproof 0.1.0"
	Host        string        `json:"host"`
	Args        []string      `json:"args"`
	Simulated   bool          `json:"simulated"`
	Loopback    bool          `json:"loopback"`
	Node        string        `json:"node,omitempty"`         // name of the simulated node, or empty
	NodeText    string        `json:"node_text,omitempty"`    // its YAML
	Profile     string        `json:"profile,omitempty"`      // name of the profile, or empty
	ProfileText string        `json:"profile_text,omitempty"` // its YAML
	Keyword     string        `json:"keyword,omitempty"`      // -k
	Labels      string        `json:"labels,omitempty"`       // -m
	Preset      string        `json:"preset,omitempty"`
	Only        []string      `json:"only,omitempty"`       // ids, from --last-failed
	MaxFail     int           `json:"max_fail,omitempty"`   // 0: no limit
	Timeout     time.Duration `json:"timeout_ns,omitempty"` // of every spec; 0: each check's own
}

// Question is one question of discovery.
type Question struct {
	Key  string         `json:"key"`
	Done bool           `json:"done"` // false before it is asked
	Call *topology.Call `json:"call,omitempty"`
}

// Check is one check of the plan.
type Check struct {
	ID       string   `json:"id"`
	Text     string   `json:"text"`
	Labels   []string `json:"labels"`
	Where    string   `json:"where,omitempty"`
	Subjects []string `json:"subjects"` // text between the brackets; one "" for the whole node
}

// Child is one child process.
type Child struct {
	PID    int    `json:"pid"`
	Task   string `json:"task,omitempty"`   // discover, specs, isolated
	Specs  int    `json:"specs,omitempty"`  // how many it was given
	Status string `json:"status,omitempty"` // "exit status 2", "signal: killed"
	Signal string `json:"signal,omitempty"` // SIGSEGV, also where Go turned it into exit status 2
	Stdout string `json:"stdout,omitempty"` // its beginning and end, where the child did not end as it should
	Stderr string `json:"stderr,omitempty"` // likewise
}

// Finish is how the run ended.
type Finish struct {
	Reason string `json:"reason"` // done, interrupted, max-fail
	Exit   int    `json:"exit"`
}
