package cli

import (
	"bytes"
	"encoding/json"
	"os"

	"github.com/spf13/cobra"

	"github.com/peerproof/peerproof/fixtures/jsontext"
	"github.com/peerproof/peerproof/internal/words"
	"github.com/peerproof/peerproof/report/diff"
	"github.com/peerproof/peerproof/report/terminal"
	"github.com/peerproof/peerproof/runner"
)

func (a *app) diffCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff DIR DIR",
		Short: "Say what changed between two runs",
		Long: `Diff compares the run in the first folder with the later one in the second: what
fails now and did not, what is no longer tested, what is mended, figures that
moved beyond their noise, and which GPU, driver, firmware or setting is another
one. It reads the two journals alone.

A figure has moved where the medians differ by more than three times the pooled
standard deviation of both runs' samples, and by more than 5 % of the earlier
one (10 % for times).

Exit codes: 0 nothing got worse, 1 something did: a new failure, a spec that is
no longer tested, a slower figure, a GPU that is gone; also where that cannot be
said, because a run still goes on or its journal's hash chain is broken;
3 internal error, 4 usage: a folder holds no run. Another part or driver alone
is told of and is not worse.`,
		Example: `  peerproof diff before-repair after-repair
  peerproof diff --json last-week today`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("%s: %s; expected two, the folders that an earlier and a later run left", cmd.CommandPath(), words.Count(len(args), "argument", "arguments"))
			}
			return nil
		},
		RunE: interruptible(func(_ *cobra.Command, args []string) error { return a.diff(args[0], args[1], asJSON) }),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "a JSON object, for a program")
	expect(cmd.Flags(), "json", "true or false")
	return cmd
}

func (a *app) diff(before, after string, asJSON bool) error {
	beFrugal()
	earlier, err := results(before)
	if err != nil {
		return usagef("diff %s: %w", before, err)
	}
	later, err := results(after)
	if err != nil {
		return usagef("diff %s: %w", after, err)
	}
	d := diff.Compare(earlier, later)
	if d.Worse || d.Void {
		a.exit = runner.ExitFail
	}
	if !asJSON {
		return terminal.Diff(a.stdout, d, terminal.Detect(a.stdout, os.Getenv))
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // an id holds "->"
	enc.SetIndent("", "  ")
	if err := enc.Encode(d); err != nil {
		return err
	}
	_, err = a.stdout.Write(jsontext.Escape(text.Bytes()))
	return err
}
