package cli

import (
	"context"
	"fmt"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/runner"
)

// packByItself packs what a run with the preset rma left: the archive, or a
// line that says why there is none. It changes no verdict.
func packByItself(ctx context.Context, dir string, r *report.Results) (archive []string, note string) {
	if r.Run.Preset != fixtures.PresetRMA {
		return nil, ""
	}
	not := func(why, flags string) ([]string, string) {
		return nil, fmt.Sprintf("No evidence was packed: %s. To pack it: peerproof evidence pack %s%s\n", report.Line(why), flags, dir)
	}
	f := packFlags{force: true} // of the same run, which was resumed
	switch {
	case r.Run.Simulated:
		return not("the run is SIMULATED", "--allow-simulated ")
	case r.Run.Loopback:
		return not("the run is LOOPBACK", "--allow-loopback ")
	case ctx.Err() != nil || r.Exit == runner.ExitInterrupted:
		return not("the run was interrupted", "")
	case r.Exit == runner.ExitNothing:
		return not("nothing was tested", "")
	}
	path, _, err := pack(ctx, dir, r, &f, nil)
	if err != nil {
		return not(err.Error(), "")
	}
	return []string{path}, "The evidence is unsigned. To sign it: peerproof evidence pack --force --sign KEY " + dir + "\n"
}
