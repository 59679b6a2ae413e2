// Package cli is the command line: flags in, exit code out. It holds no
// knowledge of its own about GPUs, runs or reports.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/runner"
)

// Main runs the command line, given without the program's name, and returns
// the exit code: that of the run, 4 where the user made a mistake, 3 where the
// harness did.
func Main(args []string) int {
	a := &app{args: args, stdout: os.Stdout, stderr: os.Stderr}
	root := a.root()
	root.SetArgs(args)
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd {
		plain(root)
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	if err := root.Execute(); err != nil {
		return a.fail(err)
	}
	return a.exit
}

// app is one call of the program.
type app struct {
	args   []string
	stdout *os.File
	stderr io.Writer
	exit   int
}

// fail says on one line what went wrong, and returns the exit code for it.
func (a *app) fail(err error) int {
	if errors.Is(err, syscall.EPIPE) {
		return a.exit // whoever read the output has seen enough
	}
	_, _ = fmt.Fprintln(a.stderr, "peerproof: "+oneText(err)) // there is nobody else to tell
	return exitOf(err)
}

// exitOf is the exit code for an error.
func exitOf(err error) int {
	var internal *runner.InternalError
	var usage *runner.UsageError
	if errors.Is(err, errInterrupted) {
		return runner.ExitInterrupted
	}
	if errors.As(err, &usage) && !errors.As(err, &internal) {
		return runner.ExitUsage
	}
	return runner.ExitInternal
}

// errInterrupted is the end of a command that was asked to stop.
var errInterrupted = errors.New("interrupted")

// interruptible ends a command that leaves files behind whole or not at all as
// soon as it is asked to: with an exit code of its own, where a signal's would
// say that it crashed. What is ignored, as in the background of a script, stays
// so.
func interruptible(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		asked, ended := make(chan os.Signal, 1), make(chan error, 1)
		for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			if !signal.Ignored(s) {
				signal.Notify(asked, s)
			}
		}
		defer signal.Stop(asked)
		go func() { ended <- run(cmd, args) }()
		select {
		case err := <-ended:
			return err
		case <-asked:
			return errInterrupted
		}
	}
}

// oneText is an error, or several joined ones, on one line.
func oneText(err error) string {
	return report.Cut(report.Line(strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")), maxError, "…")
}

// maxError bounds the line that names a mistake, in bytes.
const maxError = 2000

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "peerproof",
		Short: "Prove that the GPUs of a server work together as they should",
		Long: `peerproof tests the NVIDIA GPUs of one server against specifications: that every
GPU can reach every other one, that the data which arrives is the data which was
sent, and that each path is as fast as it should be. It leaves JUnit and JSON
reports behind, and an exit code that a pipeline can trust.

Exit codes: 0 all good, 1 something failed or could not be decided,
2 interrupted, 3 internal error, 4 usage, 5 nothing was tested.`,
		Example: `  peerproof run                        test the GPUs of this server
  peerproof run --profile hgx-h200-8   and hold them to what the server should have
  peerproof run --node hgx-h200-8      see how it looks, on a simulated server
  peerproof list -k bandwidth          the ids of the specs that would run`,
		Args:              cobra.ArbitraryArgs,
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,

		SuggestionsMinimumDistance: 2,
	}
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return a.unknownCommand(cmd, args[0])
		}
		return cmd.Help()
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return emptyFlag(cmd) }
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		a.runCommand(),
		a.listCommand(),
		a.topoCommand(),
		a.profileCommand(),
		a.reportCommand(),
		a.diffCommand(),
		a.evidenceCommand(),
		a.fleetCommand(),
		a.versionCommand(),
		workerCommand(),
	)
	complete(root)
	shells(root)
	a.help(root)
	return root
}

// Command is the command line as data, for documents made from it.
func Command() *cobra.Command {
	return (&app{stdout: os.Stdout, stderr: os.Stderr}).root()
}

// unknownCommand says which commands there are.
func (a *app) unknownCommand(root *cobra.Command, name string) error {
	if near := root.SuggestionsFor(name); len(near) > 0 {
		return usagef("unknown command %q; did you mean %s? See peerproof --help", name, strings.Join(near, " or "))
	}
	var known []string
	for _, c := range root.Commands() {
		if !c.Hidden && c.Name() != "help" && c.Name() != "completion" {
			known = append(known, c.Name())
		}
	}
	return usagef("unknown command %q; expected one of %s", name, strings.Join(known, ", "))
}

// workerCommand is what the supervisor starts; its input and output are the
// supervisor's alone.
func workerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "worker", Short: "Run specs for a supervisor", Hidden: true,
		Args: noArguments, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			if err := runner.Worker(); err != nil {
				return &runner.InternalError{Err: err}
			}
			return nil
		},
	}
}
