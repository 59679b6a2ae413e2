package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/evidence"
	"github.com/peerproof/peerproof/runner/collect"
)

// ask collects in a folder what the driver's tools say of this machine, where
// it is that of the run, and notes what it did not get, and why.
func ask(ctx context.Context, dir string, r *report.Results, bugReport bool, in *evidence.Input) error {
	in.Collected = map[string]string{}
	const smi, script = "nvidia-smi -q", "nvidia-bug-report.sh"
	missing := func(what, why string) { in.Missing = append(in.Missing, evidence.Missing{What: what, Why: why}) }
	if !bugReport {
		missing(script, "it was not asked for, --bug-report runs it")
	}
	if evidence.Simulated(r) {
		missing(smi, "the run is simulated")
		if bugReport {
			missing(script, "the run is simulated")
		}
		return nil
	}
	out, err := collect.SMI(ctx)
	if !sameMachine(r, string(out)) {
		const why = "this is not the machine of the run: its name is another, and nvidia-smi lists none of the run's GPUs"
		missing(smi, why)
		if bugReport {
			missing(script, why)
		}
		return nil
	}
	if err != nil {
		missing(smi, err.Error())
	} else {
		path := filepath.Join(dir, evidence.SMIFile)
		if err := os.WriteFile(path, out, 0o600); err != nil {
			return err
		}
		in.Collected[evidence.SMIFile] = path
	}
	if !bugReport {
		return nil
	}
	path, err := collect.BugReport(ctx, dir)
	switch {
	case path == "":
		missing(script, err.Error())
	case err != nil:
		missing("the rest of "+script, err.Error())
		fallthrough
	default:
		in.Collected[filepath.Base(path)] = path
	}
	return nil
}

// sameMachine says that this machine is that of a run: it has the same name, or
// one of the run's GPUs.
func sameMachine(r *report.Results, smi string) bool {
	if host, err := os.Hostname(); err == nil && host == r.Run.Host {
		return true
	}
	for i := range r.GPUs {
		if uuid := r.GPUs[i].UUID; uuid != "" && strings.Contains(smi, uuid) {
			return true
		}
	}
	return false
}
