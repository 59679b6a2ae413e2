package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/peerproof/peerproof/internal/files"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/schema"
	"github.com/peerproof/peerproof/report/terminal"
	"github.com/peerproof/peerproof/runner"
	"github.com/peerproof/peerproof/runner/journal"
)

// The files of a run's folder.
const (
	journalName = runner.JournalFile
	nodeName    = runner.NodeFile
	resultsName = "results.json"
	junitName   = "junit.xml"
	htmlName    = "report.html"
)

// memoryLimit is where the garbage collector begins to work harder, in bytes:
// the reports of a rack's 180,000 specs need 110 MB, and twice that is more
// than a server under test should give.
const memoryLimit = 150 << 20

// beFrugal bounds the memory of this process, unless its environment does. It
// is not for workers, which hold the memory of a simulated node.
func beFrugal() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// open opens the journal of a run's folder.
func open(dir string) (*os.File, error) {
	path := filepath.Join(dir, journalName)
	file, err := files.Open(path)
	if errors.Is(err, files.ErrNotRegular) {
		return nil, errors.New(journalName + " is no regular file; expected the folder that a run left")
	}
	if err != nil {
		if info, e := os.Stat(dir); e == nil && info.IsDir() && errors.Is(err, fs.ErrNotExist) {
			return nil, errors.New("there is no " + journalName + "; expected the folder that a run left")
		}
		return nil, errors.New(files.Cause(err).Error() + "; expected the folder that a run left")
	}
	return file, nil
}

// results reads the journal of a run's folder.
func results(dir string) (*report.Results, error) {
	file, err := open(dir)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	r, err := report.BuildFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; expected the journal of a run", journalName, err)
	}
	return r, nil
}

// replay calls fn for each event of a folder's journal. What is wrong with it
// is for whoever goes on with it.
func replay(dir string, fn func(journal.Event)) error {
	file, err := open(dir)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	var torn *journal.TornError
	err = journal.Recover(file, func(e journal.Event) error {
		fn(e)
		return nil
	}, func(*journal.BrokenError) {})
	if errors.As(err, &torn) {
		return nil
	}
	return err
}

func (a *app) reportCommand() *cobra.Command {
	var quiet, reason bool
	var d documents
	var display displayFlags
	var name string
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Build the reports of a run again from its journal",
		Long: `Report builds results.json, junit.xml and report.html of the run in folder DIR
again, from journal.jsonl alone. It works after a power cut too: specs without a
verdict are then errors, not-run. It exits with 0 when the reports are written,
whatever the verdict is.

With --reason it writes no file and prints one line instead: verdict, code, id
and serial number of the spec to look at first. A scheduler can keep it as the
reason why a node was taken out of service. The line of a run that still goes on
begins with STILL GOING ON, and that of a journal whose hash chain is broken with
PROVES NOTHING; neither is a reason.

With --schema it takes no folder and prints the JSON Schema of results.json or
node.json.`,
		Example: `  peerproof report peerproof-node17-20260203-040506
  peerproof report peerproof-node17-20260203-040506 --reason
  peerproof report --schema results`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("schema") {
				return noArguments(cmd, args)
			}
			return oneFolder(cmd, args)
		},
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("schema") {
				return a.schema(name)
			}
			if quiet && reason {
				return usagef("-q with --reason: expected one of them, they exclude each other")
			}
			if reason {
				return a.reason(args[0])
			}
			if err := d.check(cmd); err != nil {
				return err
			}
			shown, err := display.options(a, cmd)
			if err != nil {
				return err
			}
			return a.report(args[0], quiet, d, shown)
		}),
	}
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing")
	expect(cmd.Flags(), "quiet", "true or false")
	cmd.Flags().BoolVar(&reason, "reason", false, "print one line that says why, and write nothing")
	expect(cmd.Flags(), "reason", "true or false")
	d.flags(cmd)
	cmd.Flags().StringVar(&name, "schema", "", "print the JSON Schema of `DOCUMENT`: "+oneOf(schemas))
	expect(cmd.Flags(), "schema", oneOf(schemas))
	display.summary(cmd)
	return cmd
}

// schemas are the documents whose schema report prints.
var schemas = []string{"node", "results"}

// schema prints the JSON Schema of a document.
func (a *app) schema(document string) error {
	var text []byte
	switch document {
	case "node":
		text = schema.Node()
	case "results":
		text = schema.Results()
	default:
		return usagef("--schema %q: expected %s", document, oneOf(schemas))
	}
	_, err := a.stdout.Write(text)
	return err
}

// reason prints the line that is kept beside a node.
func (a *app) reason(dir string) error {
	beFrugal()
	r, err := results(dir)
	if err != nil {
		return usagef("report %s: %w", dir, err)
	}
	_, err = fmt.Fprintln(a.stdout, report.Reason(r))
	return err
}

func (a *app) report(dir string, quiet bool, d documents, display terminal.Options) error {
	beFrugal()
	r, err := results(dir)
	if err != nil {
		return usagef("report %s: %w", dir, err)
	}
	if err := canMake(dir); err != nil {
		return usagef("report %s: %w; expected a folder that can be written to", dir, err)
	}
	files, err := writeReports(r, dir, d)
	if err != nil || quiet {
		return err
	}
	return terminal.Summary(a.stdout, r, files, display)
}
