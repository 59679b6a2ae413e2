// Package runner is the supervisor of a run. The parent process never touches
// a GPU: it plans, starts child processes that discover the node and run the
// specs, watches them, turns what becomes of them into verdicts, and writes
// all of it into the journal, from which every report is built.
package runner

import (
	"time"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/runner/journal"
)

// Exit codes of a run, which are pytest's.
const (
	ExitPass        = 0 // all good
	ExitFail        = 1 // something failed or erred
	ExitInterrupted = 2 // by a signal
	ExitInternal    = 3 // the harness is at fault
	ExitUsage       = 4 // a bad flag, profile, node file or path
	ExitNothing     = 5 // nothing was tested
)

// Options is what a run is asked to do.
type Options struct {
	Tool string   // "peerproof 0.1.0"
	Args []string // as the user gave them, for the journal

	// Node names the simulated node and NodeText is its YAML; both empty tests
	// the real GPUs.
	Node     string
	NodeText string
	// Profile names the profile and ProfileText is its YAML; both empty is the
	// default profile.
	Profile     string
	ProfileText string

	Selection fixtures.Selection

	// Out is the folder to make, which must not exist; empty is
	// peerproof-HOST-TIME in the working folder.
	Out string
	// Resume is the folder of an interrupted run to go on with. All but Tool,
	// Command, Observe and Reports is then what that run was asked.
	Resume string

	MaxFail int           // stop after so many specs that failed or erred; 0: no limit
	Timeout time.Duration // deadline of every spec and question; 0: each check's own

	// Command starts a child: a program and arguments after which Worker is
	// called. Empty is this program with the argument "worker".
	Command []string

	// Observe, where set, is called with every event once it is in the
	// journal, in order and from one goroutine.
	Observe func(journal.Event)
	// Reports, where set, is called with the output folder once the journal is
	// complete, whatever the run ended in.
	Reports func(dir string) error
}

// UsageError is a mistake of the user, in one line that says what, where and
// what was expected: exit 4.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// InternalError is a fault of the harness or of a suite: exit 3.
type InternalError struct{ Err error }

func (e *InternalError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *InternalError) Unwrap() error { return e.Err }
