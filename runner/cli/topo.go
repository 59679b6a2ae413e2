package cli

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/peerproof/peerproof/fixtures/jsontext"
	"github.com/peerproof/peerproof/fixtures/profile"
	"github.com/peerproof/peerproof/report/topo"
	"github.com/peerproof/peerproof/runner"
)

func (a *app) topoCommand() *cobra.Command {
	var t target
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "topo",
		Short: "Print how the GPUs reach each other, and how fast they should",
		Long: `Topo prints the class of the path between every two GPUs, as nvidia-smi topo -m
does, and the bandwidth that the path has in theory. It discovers the node but
tests nothing and writes nothing. Without a GPU it exits with 5.

` + names(),
		Example: `  peerproof topo                       this server
  peerproof topo --profile hgx-h200-8  as the profile expects it
  peerproof topo --node dgx-v100-8     a simulated one
  peerproof topo --json                for a program`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.topo(cmd, &t, asJSON) },
	}
	cmd.Flags().SortFlags = false
	t.nodeFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "a JSON object of gpus and paths")
	expect(cmd.Flags(), "json", "true or false")
	return cmd
}

func (a *app) topo(cmd *cobra.Command, t *target, asJSON bool) error {
	o, err := t.options(a)
	if err != nil {
		return err
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
	var p *profile.Profile
	if o.ProfileText != "" {
		if p, err = profile.Parse(o.Profile, []byte(o.ProfileText)); err != nil {
			return usagef("--profile: %w", err)
		}
	}
	m := topo.Of(node, p)
	if len(m.GPUs) == 0 {
		a.exit = runner.ExitNothing
		if !asJSON {
			_, err = io.WriteString(a.stdout, "no GPU was found; peerproof topo --node hgx-h200-8 shows a simulated server\n")
			return err
		}
	}
	if asJSON {
		text, err := json.Marshal(m)
		if err != nil {
			return err
		}
		_, err = a.stdout.Write(append(jsontext.Escape(text), '\n'))
		return err
	}
	return m.Write(a.stdout)
}
