// Command man writes the manual pages and the shell completions of peerproof,
// from the same source as its help, into a folder as packages install them:
//
//	man/peerproof.1, man/peerproof-run.1, …
//	completions/peerproof.bash, completions/_peerproof, completions/peerproof.fish
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/peerproof/peerproof/runner/cli"
	_ "github.com/peerproof/peerproof/suites/all"
)

func main() {
	if len(os.Args) != 3 {
		panic("usage: man FOLDER VERSION")
	}
	if err := write(cli.Command(), os.Args[1], os.Args[2], os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		panic(err)
	}
}

// write makes the documents of a command line. epoch is the date of the pages
// in seconds since 1970: a package of the same source is the same package.
func write(root *cobra.Command, folder, version, epoch string) error {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH %q: expected a number of seconds", epoch)
	}
	pages, completions := filepath.Join(folder, "man"), filepath.Join(folder, "completions")
	for _, dir := range []string{pages, completions} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for _, c := range documented(root) {
		text := page(c, version, time.Unix(seconds, 0).UTC())
		if err := os.WriteFile(filepath.Join(pages, pageName(c)+".1"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return errors.Join(
		root.GenBashCompletionFileV2(filepath.Join(completions, "peerproof.bash"), true),
		root.GenZshCompletionFile(filepath.Join(completions, "_peerproof")),
		root.GenFishCompletionFile(filepath.Join(completions, "peerproof.fish"), true),
	)
}
