package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/peerproof/peerproof/cuda/sim"
	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/profile"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/internal/words"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/runner"
)

// target is the flags that say what is tested, which run and list share.
type target struct {
	node, profile string
	keyword       string
	labels        string
	preset        string
	loopback      bool
}

func (t *target) flags(cmd *cobra.Command) {
	t.nodeFlags(cmd)
	f := cmd.Flags()
	f.StringVarP(&t.keyword, "keyword", "k", "", "only ids for which `EXPR` is true: words, and, or, not, ()")
	expect(f, "keyword", `an expression such as "bandwidth and not gpu3"`)
	f.StringVarP(&t.labels, "labels", "m", "", "only checks whose `LABELS` match: labels, &&, ||, !, ()")
	expect(f, "labels", `labels such as "bandwidth && !slow"`)
	f.StringVar(&t.preset, "preset", "", "a selection by its `NAME`: "+oneOf(fixtures.Presets)+", the default is acceptance")
	expect(f, "preset", oneOf(fixtures.Presets))
	f.BoolVar(&t.loopback, "loopback", false, "each GPU is its own peer: for a server with one GPU")
	expect(f, "loopback", "true or false")
}

// nodeFlags are those that say which node it is and what it should be.
func (t *target) nodeFlags(cmd *cobra.Command) {
	t.nodeFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&t.profile, "profile", "", "what the server should have: `FILE|NAME`")
	expect(f, "profile", "a profile file, or "+oneOf(profile.Names()))
}

func (t *target) nodeFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.node, "node", "", "a simulated node, not the real GPUs: `FILE|NAME`")
	expect(cmd.Flags(), "node", "a node file, or "+oneOf(sim.Names()))
}

// names is the part of a help text that lists what is embedded.
func names() string {
	return "Embedded nodes: " + strings.Join(sim.Names(), ", ") + ".\nEmbedded profiles: " + strings.Join(profile.Names(), ", ") + "."
}

// options reads the files and checks the expressions.
func (t *target) options(a *app) (runner.Options, error) {
	o := runner.Options{Tool: tool(), Args: a.args, Selection: fixtures.Selection{
		Keyword: t.keyword, Labels: t.labels, Preset: t.preset, Loopback: t.loopback,
	}}
	if err := selectionError(o.Selection); err != nil {
		return o, err
	}
	if t.node != "" {
		file, err := sim.Load(t.node)
		if err != nil {
			return o, nodeError(err)
		}
		o.Node, o.NodeText = file.Name, file.Text()
	}
	if t.profile != "" {
		p, err := profile.Load(t.profile)
		if err != nil {
			return o, usagef("--profile: %w", err)
		}
		o.Profile, o.ProfileText = p.Name(), string(p.Text())
	}
	return o, nil
}

// nodeError adds what was expected where a whole file cannot be used.
func nodeError(err error) error {
	var file *sim.FileError
	if errors.As(err, &file) && file.Line == 0 && !strings.Contains(file.Problem, "embedded") {
		return usagef("--node: %w; expected a node file, or %s", err, oneOf(sim.Names()))
	}
	return usagef("--node: %w", err)
}

// given are the flags of a command that the user set.
func given(cmd *cobra.Command, names ...string) []string {
	var set []string
	for _, name := range names {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			set = append(set, dashed(f, f.Shorthand))
		}
	}
	return set
}

// positive refuses a duration that no spec could keep.
func positive(flag string, set bool, d time.Duration) error {
	if set && d <= 0 {
		return usagef("%s %s: expected a duration above zero, such as 30s or 2m", flag, d)
	}
	return nil
}

// lastFailed are the ids that failed or erred in an earlier run.
func lastFailed(dir string) (map[string]bool, error) {
	r, err := results(dir)
	if err != nil {
		return nil, usagef("--last-failed %s: %w", dir, err)
	}
	ids := map[string]bool{}
	for i := range r.Specs {
		if s := &r.Specs[i]; s.Verdict == verdict.Fail || s.Verdict == verdict.Error {
			ids[s.ID] = true
		}
	}
	return ids, nil
}

// unmatched says which selection no spec of the node meets.
func unmatched(sel fixtures.Selection, lastFailed string) string {
	if sel.Only != nil && len(sel.Only) == 0 {
		return "nothing failed or erred in " + lastFailed + ": there is nothing to run"
	}
	var by []string
	if sel.Keyword != "" {
		by = append(by, fmt.Sprintf("-k %q", sel.Keyword))
	}
	if sel.Labels != "" {
		by = append(by, fmt.Sprintf("-m %q", sel.Labels))
	}
	if sel.Preset != "" {
		by = append(by, "--preset "+sel.Preset)
	}
	if lastFailed != "" {
		by = append(by, fmt.Sprintf("--last-failed %s (%s)", lastFailed, words.Count(len(sel.Only), "id", "ids")))
	}
	if len(by) == 0 {
		return "no spec exists on this node"
	}
	return report.Line("no spec of this node matches " + strings.Join(by, " with ") + "; peerproof list prints the ids that there are")
}

// oneOf writes "a, b or c".
func oneOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	sorted := slices.Clone(names)
	last := len(sorted) - 1
	return strings.Join(sorted[:last], ", ") + " or " + sorted[last]
}
