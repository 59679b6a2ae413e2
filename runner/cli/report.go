package cli

import (
	"bufio"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/junit"
	"github.com/peerproof/peerproof/report/terminal"
	"github.com/peerproof/peerproof/runner/journal"
)

// The files of a run's folder.
const (
	journalName = "journal.jsonl"
	resultsName = "results.json"
	junitName   = "junit.xml"
)

// writeReports writes a run's documents into its folder, and the JUnit report
// once more where asked; it returns the files of the folder.
func writeReports(r *report.Results, dir, junitCopy string) ([]string, error) {
	documents := []struct {
		path  string
		write func(io.Writer, *report.Results) error
	}{
		{filepath.Join(dir, resultsName), report.WriteJSON},
		{filepath.Join(dir, junitName), junit.Write},
	}
	if junitCopy != "" {
		documents = append(documents, documents[1])
		documents[2].path = junitCopy
	}
	var files []string
	for _, d := range documents {
		if err := report.WriteFile(d.path, func(w io.Writer) error { return d.write(w, r) }); err != nil {
			return files, err
		}
		files = append(files, d.path)
	}
	return append(files, filepath.Join(dir, journalName)), nil
}

// replay calls fn for each event of a folder's journal.
func replay(dir string, fn func(journal.Event)) error {
	file, err := os.Open(filepath.Join(dir, journalName))
	if err != nil {
		return err
	}
	defer file.Close()
	return journal.Recover(bufio.NewReader(file), func(e journal.Event) error {
		fn(e)
		return nil
	}, func(*journal.BrokenError) {})
}

func (a *app) reportCommand() *cobra.Command {
	var quiet bool
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Build the reports of a run again from its journal",
		Long: `Report builds results.json and junit.xml of the run in folder DIR again, from
journal.jsonl alone. It works after a power cut too: specs without a verdict are
then errors, not-run. It exits with 0 when the reports are written, whatever the
verdict is.`,
		Example: `  peerproof report peerproof-node17-20260203-040506`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s: %d arguments; expected one, the folder that a run left", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return a.report(args[0], quiet)
		},
	}
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing")
	expect(cmd.Flags(), "quiet", "true or false")
	return cmd
}

func (a *app) report(dir string, quiet bool) error {
	r, err := results(dir)
	if err != nil {
		return usagef("report %s: %w", dir, err)
	}
	if err := canMake(dir); err != nil {
		return usagef("report %s: %w; expected a folder that can be written to", dir, err)
	}
	files, err := writeReports(r, dir, "")
	if err != nil || quiet {
		return err
	}
	return terminal.Summary(a.stdout, r, files, terminal.Detect(a.stdout, os.Getenv))
}
