package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/peerproof/peerproof/report/terminal"
)

// displayFlags are the flags that say what is shown.
type displayFlags struct {
	verbose, quiet bool
	list           string
	durations      int
}

// levels adds -v and -q.
func (f *displayFlags) levels(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "a line for each spec")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "the summary alone")
	expect(flags, "verbose", "true or false")
	expect(flags, "quiet", "true or false")
}

// summary adds the flags that say what the summary holds.
func (f *displayFlags) summary(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.list, "list", "r", "", "a line in the summary for each spec that `CHARS` name, such as fEsw or A")
	expect(flags, "list", terminal.ListingHelp)
	flags.IntVar(&f.durations, "durations", 0, "name the `N` slowest specs in the summary, 0 all")
	expect(flags, "durations", "a whole number from 0")
}

// options is how the output of a command looks.
func (f *displayFlags) options(a *app, cmd *cobra.Command) (terminal.Options, error) {
	o := terminal.Detect(a.stdout, os.Getenv)
	switch {
	case f.verbose && f.quiet:
		return o, usagef("-v with -q: expected one of them, they exclude each other")
	case f.verbose:
		o.Level = terminal.Verbose
	case f.quiet:
		o.Level = terminal.Quiet
	}
	if cmd.Flags().Changed("list") {
		var err error
		if o.List, err = terminal.ParseListing(f.list); err != nil {
			return o, usagef("-r %q: %w", f.list, err)
		}
	}
	if cmd.Flags().Changed("durations") {
		switch {
		case f.durations < 0:
			return o, usagef("--durations %d: expected a whole number from 0", f.durations)
		case f.durations == 0:
			o.Durations = -1 // all
		default:
			o.Durations = f.durations
		}
	}
	return o, nil
}
