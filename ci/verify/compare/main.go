// Compare holds a run of peerproof against other tools and against the
// simulation, for ci/verify/real.sh:
//
//	compare tools RUN [-nvbandwidth FILE] [-p2p FILE] [-p2p-sm FILE] [-nccl PROGRAM=FILE]… [-tolerance PERCENT]
//	compare facts RUN [SIMULATED] [-json FILE]
//	compare node RUN
//	compare differ RUN SIMULATED
//
// RUN is an output folder of peerproof run. Pages go to standard output. The
// exit code is 0, 1 where a figure differs or is missing, 4 for bad input.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() { os.Exit(command(os.Args[1:], os.Stdout, os.Stderr)) }

const (
	exitDiffers = 1
	exitUsage   = 4
)

// errDiffers ends a comparison that found something.
var errDiffers = errors.New("figures differ")

// command is the program: arguments in, exit code out.
func command(args []string, out, errs io.Writer) int {
	commands := map[string]func([]string, io.Writer) error{"tools": tools, "facts": factsPage, "node": node, "differ": differ}
	if len(args) == 0 || commands[args[0]] == nil {
		_, _ = fmt.Fprintln(errs, "usage: compare tools|facts|node|differ RUN …; see docs/real-peers.md")
		return exitUsage
	}
	err := commands[args[0]](args[1:], out)
	switch {
	case errors.Is(err, errDiffers):
		return exitDiffers
	case err != nil:
		_, _ = fmt.Fprintf(errs, "compare %s: %v\n", args[0], err)
		return exitUsage
	}
	return 0
}

// parse reads flags that stand before, between or behind so many folders, and
// loads these.
func parse(flags *flag.FlagSet, args []string, least, most int) ([]*run, error) {
	flags.SetOutput(io.Discard)
	var runs []*run
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			break
		}
		r, err := load(flags.Arg(0))
		if err != nil {
			return nil, err
		}
		runs, args = append(runs, r), flags.Args()[1:]
	}
	if len(runs) < least || len(runs) > most {
		return nil, fmt.Errorf("%d folders are named; expected %d to %d", len(runs), least, most)
	}
	return runs, nil
}

// tools compares figures.
func tools(args []string, out io.Writer) error {
	var nccl []string
	flags := flag.NewFlagSet("tools", flag.ContinueOnError)
	nvbandwidthFile := flags.String("nvbandwidth", "", "what nvbandwidth -j printed")
	p2pFile := flags.String("p2p", "", "what p2pBandwidthLatencyTest --p2p_read printed")
	p2pSMFile := flags.String("p2p-sm", "", "what p2pBandwidthLatencyTest --p2p_read --sm_copy printed")
	percent := flags.Float64("tolerance", 2, "how far a figure may be off, in percent")
	flags.Func("nccl", "PROGRAM=FILE: what a program of nccl-tests printed", func(s string) error {
		nccl = append(nccl, s)
		return nil
	})
	runs, err := parse(flags, args, 1, 1)
	if err != nil {
		return err
	}
	if !(*percent > 0 && *percent <= 100) {
		return fmt.Errorf("the tolerance is %v %%; expected more than 0 and at most 100", *percent)
	}
	r := runs[0]
	var all []theirs
	var left []string
	read := func(file string, figures func([]byte) ([]theirs, []string, error)) error {
		if file == "" {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		more, without, err := figures(text)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		all, left = append(all, more...), append(left, without...)
		return nil
	}
	if err := errors.Join(
		read(*nvbandwidthFile, r.nvbandwidth),
		read(*p2pFile, func(text []byte) ([]theirs, []string, error) { return r.p2p(text, false) }),
		read(*p2pSMFile, func(text []byte) ([]theirs, []string, error) { return r.p2p(text, true) }),
	); err != nil {
		return err
	}
	for _, s := range nccl {
		program, file, ok := strings.Cut(s, "=")
		if !ok || file == "" {
			return fmt.Errorf("-nccl %q; expected PROGRAM=FILE, such as all_reduce=out.txt", plain(s))
		}
		if err := read(file, func(text []byte) ([]theirs, []string, error) { return r.nccl(text, program) }); err != nil {
			return err
		}
	}
	rows := compare(r.Results, all, *percent/100)
	if _, err := io.WriteString(out, table(rows, *percent/100, r.marks(), left)); err != nil {
		return err
	}
	if count(rows, pass) != len(rows) {
		return errDiffers
	}
	return nil
}

func (r *run) nvbandwidth(text []byte) ([]theirs, []string, error) {
	n, err := parseNvbandwidth(text)
	if err != nil {
		return nil, nil, err
	}
	names, err := slots(r.Node, n.devices)
	if err != nil {
		return nil, nil, err
	}
	return n.figures(names)
}

func (r *run) p2p(text []byte, sm bool) ([]theirs, []string, error) {
	p, err := parseP2P(text)
	if err != nil {
		return nil, nil, err
	}
	names, err := slots(r.Node, p.devices)
	if err != nil {
		return nil, nil, err
	}
	all, left := p.figures(names, sm)
	return all, left, nil
}

func (r *run) nccl(text []byte, program string) ([]theirs, []string, error) {
	n, err := parseNCCL(text)
	if err != nil {
		return nil, nil, err
	}
	if _, err := slots(r.Node, n.devices); err != nil {
		return nil, nil, err
	}
	return n.figures(program)
}

// factsPage writes what the driver answered.
func factsPage(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("facts", flag.ContinueOnError)
	file := flags.String("json", "", "write the same as JSON into a file")
	runs, err := parse(flags, args, 1, 2)
	if err != nil {
		return err
	}
	all := facts(runs[0])
	if len(runs) == 2 {
		beside(all, facts(runs[1]))
	}
	if *file != "" {
		text, err := json.MarshalIndent(map[string]any{"version": 1, "run": runs[0].Run, "topics": all, "not_recorded": unrecorded}, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(*file, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	_, err = io.WriteString(out, page(all, runs[0].marks(), len(runs) == 2))
	return err
}

// node writes a node file of the run's shape.
func node(args []string, out io.Writer) error {
	runs, err := parse(flag.NewFlagSet("node", flag.ContinueOnError), args, 1, 1)
	if err != nil {
		return err
	}
	text, err := nodeFile(runs[0].Results)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}

// differ writes where a run and a simulated one end otherwise.
func differ(args []string, out io.Writer) error {
	runs, err := parse(flag.NewFlagSet("differ", flag.ContinueOnError), args, 2, 2)
	if err != nil {
		return err
	}
	seen, simulated := runs[0], runs[1]
	_, err = io.WriteString(out, differences(gaps(seen.Results, simulated.Results), ratios(seen.Results, simulated.Results), seen, simulated))
	return err
}
