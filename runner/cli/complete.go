package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/peerproof/peerproof/cuda/sim"
	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/profile"
)

// completion is what a shell is told of a value's beginnings.
type completion = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective)

// flagValues completes the values of flags, by the flag's name; a flag that no
// command has is no mistake.
var flagValues = map[string]completion{
	"node":        orFile(sim.Names, "yaml", "yml"),
	"profile":     orFile(profile.Names, "yaml", "yml"),
	"preset":      wordsOf(func() []string { return fixtures.Presets }),
	"labels":      wordsOf(labels),
	"keyword":     wordsOf(keywords),
	"list":        wordsOf(func() []string { return []string{"a", "A", "f", "fE", "fEsw", "N"} }),
	"out":         folders,
	"resume":      folders,
	"last-failed": folders,
	"from":        folders,
	"identity":    wordsOf(func() []string { return nil }),
	"maxfail":     wordsOf(func() []string { return nil }),
	"durations":   wordsOf(func() []string { return nil }),
	"timeout":     wordsOf(func() []string { return []string{"30s", "2m", "10m"} }),
	"junitxml":    orFile(func() []string { return nil }, "xml"),
	"prometheus":  orFile(func() []string { return nil }, "prom"),
	"ocp":         orFile(func() []string { return nil }, "jsonl"),
	"schema":      wordsOf(func() []string { return schemas }),
}

// complete gives each command below and with this one the completions of its
// flags, and of its arguments by what its usage calls them.
func complete(cmd *cobra.Command) {
	for name, values := range flagValues {
		if f := cmd.Flags().Lookup(name); f != nil {
			// The only error is that the flag has a completion already.
			_ = cmd.RegisterFlagCompletionFunc(name, values)
		}
	}
	if cmd.ValidArgsFunction == nil && cmd.Runnable() && cmd.HasParent() {
		switch _, arguments, _ := strings.Cut(cmd.Use, " "); {
		case strings.Contains(arguments, "DIR"):
			cmd.ValidArgsFunction = folders
		case arguments == "NAME":
			cmd.ValidArgsFunction = first(wordsOf(profile.Names))
		case arguments == "":
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
	for _, below := range cmd.Commands() {
		complete(below)
	}
}

// shells has cobra's command that prints the scripts for shells answer to a
// wrong one as other commands do; by itself it shows its help and exits with 0.
func shells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return usagef("%s: expected the shell, %s", cmd.CommandPath(), instead(cmd))
	}
}

// help has cobra's command of that name answer to a wrong one as other commands
// do; by itself it shows the general help and exits with 0.
func (a *app) help(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	cmd, _, err := root.Find([]string{"help"})
	if err != nil {
		return
	}
	cmd.Run = nil
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		about, rest, err := root.Find(args)
		if err != nil {
			return err
		}
		if len(rest) > 0 {
			return a.unknownCommand(about, rest[0])
		}
		return about.Help()
	}
}

// plain takes the marks of a value's name out of the texts of flags, which a
// shell would show as they are.
func plain(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") })
	for _, below := range cmd.Commands() {
		plain(below)
	}
}

// wordsOf completes one of some words and nothing else.
func wordsOf(all func() []string) completion {
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return startingWith(all(), begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// orFile completes one of some words, or a file with one of these endings.
func orFile(all func() []string, endings ...string) completion {
	return func(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		if found := startingWith(all(), begun); len(found) > 0 {
			return found, cobra.ShellCompDirectiveDefault
		}
		return endings, cobra.ShellCompDirectiveFilterFileExt
	}
}

func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// first completes the first argument alone.
func first(values completion) completion {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return values(cmd, args, begun)
	}
}

func startingWith(all []string, begun string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(w string) bool { return !strings.HasPrefix(w, begun) })
}

// labels are those of the catalogue.
func labels() []string {
	var all []string
	for _, c := range fixtures.Default.Checks() {
		all = append(all, c.Labels...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// keywords are the catalogue's areas and checks.
func keywords() []string {
	var all []string
	for _, c := range fixtures.Default.Checks() {
		all = append(all, c.Area(), c.ID)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
