package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/runner"
)

func (a *app) listCommand() *cobra.Command {
	var t target
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Print the ids that would run, without running them",
		Long: `List prints the ids of the specs that run would test with the same flags, one a
line and in order. It discovers the node but tests nothing and writes nothing.
It exits with 5 where nothing is selected.

` + names(),
		Example: `  peerproof list                                      on this server
  peerproof list --node hgx-h200-8 -k "write-ce and gpu3" on a simulated one
  peerproof list --node pcie-4 -m "data" --json           with texts and labels`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.list(cmd, &t, asJSON) },
	}
	cmd.Flags().SortFlags = false
	t.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "a JSON array of id, text, labels, check and subject")
	expect(cmd.Flags(), "json", "true or false")
	return cmd
}

func (a *app) list(cmd *cobra.Command, t *target, asJSON bool) error {
	o, err := t.options(a)
	if err != nil {
		return err
	}
	if err := fixtures.Default.Err(); err != nil {
		return &runner.InternalError{Err: err}
	}
	ctx, stop := interrupts(cmd.Context())
	defer stop()
	node, err := runner.Inventory(ctx, o)
	if ctx.Err() != nil {
		a.exit = runner.ExitInterrupted
		return nil
	}
	if err != nil {
		return err
	}
	plan, err := fixtures.Default.Plan(node, o.Selection)
	if err != nil {
		return err
	}
	if len(plan) == 0 {
		a.exit = runner.ExitNothing
		if _, err := fmt.Fprintln(a.stderr, "peerproof: "+unmatched(o.Selection, "")); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(a.stdout)
	write := writeIDs
	if asJSON {
		write = writeList
	}
	if err := write(out, plan); err != nil {
		return err
	}
	return out.Flush()
}

func writeIDs(w io.Writer, plan []fixtures.Spec) error {
	for i := range plan {
		if _, err := io.WriteString(w, plan[i].ID()+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// listed is one spec of a list.
type listed struct {
	ID      string          `json:"id"`
	Text    string          `json:"text"`
	Labels  []string        `json:"labels"`
	Check   string          `json:"check"`
	Subject *report.Subject `json:"subject,omitempty"`
}

// writeList writes a JSON array, one spec a line.
func writeList(w io.Writer, plan []fixtures.Spec) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	between := "["
	for i := range plan {
		if _, err := io.WriteString(w, between); err != nil {
			return err
		}
		s := &plan[i]
		if err := enc.Encode(listed{s.ID(), s.Check.Text, s.Check.Labels, s.Check.ID, subject(s.Subject)}); err != nil {
			return err
		}
		between = ","
	}
	end := "]\n"
	if len(plan) == 0 {
		end = "[]\n"
	}
	_, err := io.WriteString(w, end)
	return err
}

// subject is what a spec is about, as results.json has it; nil is the node.
func subject(s fixtures.Subject) *report.Subject {
	switch {
	case s.Kind == fixtures.WholeNode || s.From < 0:
		return nil
	case s.Kind == fixtures.EachGPU:
		return &report.Subject{GPU: topology.SlotName(s.From)}
	default:
		return &report.Subject{From: topology.SlotName(s.From), To: topology.SlotName(s.To)}
	}
}
