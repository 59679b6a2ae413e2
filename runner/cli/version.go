package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is the release, set by the linker:
// -X github.com/peerproof/peerproof/runner/cli.Version=0.1.0.
var Version string

// Commit is the full commit of a release, set by the linker beside Version: a
// reproducible build has no stamp of the Go tool (-buildvcs=false). Empty: the
// stamp counts.
var Commit string

// release is the version, or which commit the program was built from.
func release() string {
	if Version != "" {
		return Version
	}
	revision, changed := commit()
	if len(revision) > 12 {
		revision = revision[:12]
	}
	if changed {
		revision += "-dirty"
	}
	return "devel+" + revision
}

// tool is how reports name the program.
func tool() string { return "peerproof " + release() }

// commit is the revision that the program was built from, as the linker was
// told or the Go tool stamped it, and whether there were local changes.
func commit() (revision string, changed bool) {
	if Commit != "" {
		return Commit, false
	}
	revision = "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return revision, false
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			changed = s.Value == "true"
		}
	}
	return revision, changed
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which peerproof this is", Args: noArguments,
		Example: "  peerproof version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			revision, changed := commit()
			if changed {
				revision += " (with local changes)"
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\ncommit %s\n%s %s/%s\n", tool(), revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
