// Command minisuite is a peerproof with suites that misbehave, each in a way
// of its own. The variable MINISUITE names the one that is declared.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/peerproof/peerproof/runner"
)

// suites declare what they are named after.
var suites = map[string]func(){}

func main() {
	name := os.Getenv("MINISUITE")
	declare := suites[name]
	if declare == nil {
		fmt.Fprintf(os.Stderr, "MINISUITE=%q: no such suite\n", name)
		os.Exit(runner.ExitUsage)
	}
	declare()
	if len(os.Args) == 2 && os.Args[1] == "worker" {
		if err := runner.Worker(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(runner.ExitInternal)
		}
		return
	}
	os.Exit(run())
}

func run() int {
	var o runner.Options
	node := flag.String("node", "", "file of the simulated node")
	profile := flag.String("profile", "", "file of the profile")
	flag.StringVar(&o.Out, "out", "", "folder to make")
	flag.StringVar(&o.Resume, "resume", "", "folder to go on in")
	flag.StringVar(&o.Selection.Keyword, "k", "", "expression")
	flag.StringVar(&o.Selection.Preset, "preset", "", "selection")
	flag.IntVar(&o.MaxFail, "maxfail", 0, "failures")
	flag.DurationVar(&o.Timeout, "timeout", 0, "deadline of a spec")
	flag.Parse()
	o.Tool, o.Args = "minisuite 0", os.Args[1:]
	for file, to := range map[string]*string{*node: &o.NodeText, *profile: &o.ProfileText} {
		if file == "" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return runner.ExitUsage
		}
		*to = string(text)
	}
	o.Node, o.Profile = *node, *profile
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	exit, err := runner.Run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return exit
}
