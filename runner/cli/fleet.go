package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/peerproof/peerproof/internal/files"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/fleet"
	"github.com/peerproof/peerproof/report/terminal"
)

// The files of a fleet's report.
const (
	fleetJSON = "fleet.json"
	fleetHTML = "fleet.html"
)

func (a *app) fleetCommand() *cobra.Command {
	var out string
	var quiet bool
	cmd := &cobra.Command{
		Use:   "fleet DIR...",
		Short: "Make one report of the runs of many servers",
		Long: `Fleet reads the folders that runs left, one or more for each server, and makes one
report of them: the verdict of each server, failures by code and part, servers,
GPUs and pairs that pass their floors but are slower than their equals, and
versions of driver and firmware that differ. Each DIR is a run's folder or holds
such folders, at most 4 levels below. Of several runs of one server the last
counts. SIMULATED and LOOPBACK runs are grouped apart.

It writes fleet.html and fleet.json. Folders without a run are named and skipped.
It exits with 0 where every server that tested something passed and none is an
outlier; 1 where one failed, erred or is an outlier, where its run still goes on
or its journal's hash chain is broken, and where a folder that holds a run, or
may hold one, cannot be read; and 5 where no run could be read, or none tested
anything.`,
		Example: `  peerproof fleet runs/                the runs of a rack, collected in one folder
  peerproof fleet --out today node*/   one report in the folder today`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("%s: no folder is named; expected folders of runs, or folders that hold some", cmd.CommandPath())
			}
			return nil
		},
		RunE: interruptible(func(_ *cobra.Command, args []string) error { return a.fleet(args, out, quiet) }),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&out, "out", "", "write into this `DIR`, the default is peerproof-fleet-TIME")
	expect(cmd.Flags(), "out", "a folder to write into")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing, or one line where folders were skipped")
	expect(cmd.Flags(), "quiet", "true or false")
	return cmd
}

func (a *app) fleet(args []string, out string, quiet bool) error {
	beFrugal()
	var folders []fleet.Folder
	var skipped []fleet.Skipped
	for _, dir := range args {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrPermission):
			skipped = append(skipped, fleet.Skipped{Dir: dir, Reason: "it cannot be read: " + files.Cause(err).Error(), Unread: true})
			continue
		case err != nil:
			return usagef("fleet %s: %w; expected the folder of a run, or one that holds some", dir, files.Cause(err))
		case !info.IsDir():
			return usagef("fleet %s: it is a file; expected the folder of a run, or one that holds some", dir)
		}
		found, not := fleet.Find(filepath.ToSlash(filepath.Clean(dir)), os.DirFS(dir))
		folders, skipped = append(folders, found...), append(skipped, not...)
	}
	now := time.Now()
	r := fleet.Build(fleet.Load(folders, skipped, runtime.GOMAXPROCS(0)), fleet.Options{Tool: tool(), Now: now.UTC()})
	if out == "" {
		out = "peerproof-fleet-" + now.Format("20060102-150405")
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return usagef("--out %s: %w; expected a folder to write into", out, files.Cause(err))
	}
	if err := canMake(out); err != nil {
		return usagef("--out %s: %w; expected a folder to write into", out, err)
	}
	files := []string{filepath.Join(out, fleetHTML), filepath.Join(out, fleetJSON)}
	err := report.WriteFiles(
		report.File{Path: files[0], Write: func(w io.Writer) error { return fleet.WriteHTML(w, r) }},
		report.File{Path: files[1], Write: func(w io.Writer) error { return fleet.WriteJSON(w, r) }},
	)
	if err != nil {
		return err
	}
	a.exit = r.Exit
	if quiet {
		if len(r.Skipped) > 0 { // what is not in the report must not go unseen
			_, err = fmt.Fprintln(a.stdout, terminal.Conclusion(r))
		}
		return err
	}
	return terminal.Fleet(a.stdout, r, files, terminal.Detect(a.stdout, os.Getenv))
}
