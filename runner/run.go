package runner

import (
	"context"
	"errors"

	"github.com/peerproof/peerproof/fixtures/topology"
)

// Run does one run and returns its exit code. The error, where there is one,
// says why nothing or not all could be done: a *UsageError with exit 4, an
// *InternalError with exit 3. When ctx ends the run is interrupted: the specs
// that have no verdict end as not-run, reports are written, exit 2.
func Run(ctx context.Context, o Options) (exit int, err error) {
	return ExitInternal, &InternalError{errors.New("not built yet")}
}

// Inventory discovers the node in a child, joins it with the profile and
// returns it, without leaving anything behind. Errors are those of Run.
func Inventory(ctx context.Context, o Options) (*topology.Node, error) {
	return nil, &InternalError{errors.New("not built yet")}
}

// Worker is the child: it reads its task as JSON from standard input and
// reports on file descriptor 3. The program that Options.Command names calls
// it, and exits with 0 if it returns nil.
func Worker() error { return errors.New("not built yet") }
