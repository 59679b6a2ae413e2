package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/peerproof/peerproof/fixtures/profile"
	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/internal/files"
	"github.com/peerproof/peerproof/runner"
)

func (a *app) profileCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "List, show and capture what servers should have",
		Long: `A profile says what a server should have: its GPUs, links and paths, how near to
the theory each path must come, which checks must not be skipped, and which
failures are excused until when.`,
		Example: `  peerproof profile list
  peerproof profile show hgx-h200-8
  peerproof profile capture > my-server.yaml                     from this server
  peerproof profile capture --from peerproof-HOST-TIME > my.yaml from a run of it
  peerproof profile schema > profile.schema.json                 for an editor`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.profileList(), a.profileShow(), a.profileCapture(), a.profileSchema())
	return cmd
}

func (a *app) profileList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Print the names of the embedded profiles", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			for _, name := range profile.Names() {
				if _, err := fmt.Fprintln(a.stdout, name); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func (a *app) profileShow() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Print a profile",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("profile show: expected one name, one of %s", oneOf(profile.Names()))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := profile.Load(args[0])
			if err != nil {
				return usagef("profile show: %w", err)
			}
			_, err = a.stdout.Write(p.Text())
			return err
		},
	}
}

func (a *app) profileSchema() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of a profile, for editors", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := a.stdout.Write(profile.Schema())
			return err
		},
	}
}

func (a *app) profileCapture() *cobra.Command {
	var t target
	var from, name string
	cmd := &cobra.Command{
		Use: "capture", Short: "Print the profile of this server as it is now", Args: noArguments,
		Example: `  peerproof profile capture --name node17 > node17.yaml
  peerproof profile capture --from peerproof-HOST-TIME > my-server.yaml`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			node, err := a.captured(cmd, &t, from)
			if err != nil {
				return err
			}
			text, err := profile.Capture(node, name)
			if err != nil {
				return usagef("profile capture: %w", err)
			}
			_, err = a.stdout.Write(text)
			return err
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "of the run in folder `DIR`, not of this server now")
	expect(cmd.Flags(), "from", "a run's folder")
	cmd.Flags().StringVar(&name, "name", "captured", "the profile's `NAME`")
	expect(cmd.Flags(), "name", profile.NameForm)
	t.nodeFlag(cmd)
	return cmd
}

// maxNode bounds a node.json in bytes; that of a rack's 72 GPUs has 300 KB.
const maxNode = 64 << 20

// captured is the inventory to make a profile of.
func (a *app) captured(cmd *cobra.Command, t *target, from string) (*topology.Node, error) {
	if from != "" {
		if t.node != "" {
			return nil, usagef("--from with --node: expected one of them")
		}
		data, err := files.Read(filepath.Join(from, nodeName), maxNode)
		if err != nil {
			return nil, usagef("--from %s: no node.json in it can be read: %w; expected the folder of a run that had found the GPUs", from, files.Cause(err))
		}
		node, err := topology.Decode(data)
		if err != nil {
			return nil, usagef("--from %s: its node.json: %w; expected the inventory that a run wrote", from, err)
		}
		return node, nil
	}
	o, err := t.options(a)
	if err != nil {
		return nil, err
	}
	ctx, stop := interrupts(cmd.Context())
	defer stop()
	return runner.Inventory(ctx, o)
}
