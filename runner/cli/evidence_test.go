package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/peerproof/peerproof/runner/journal"
)

// realrun DIR NEW HOST: a new folder holds the journal and the inventory of the
// simulated run in DIR as those of a run of real GPUs on a host would be.
func realRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: realrun DIR NEW HOST")
	}
	ts.Check(os.Mkdir(ts.MkAbs(args[1]), 0o755))
	out, err := os.Create(ts.MkAbs(filepath.Join(args[1], "journal.jsonl")))
	ts.Check(err)
	enc := journal.NewEncoder(out)
	err = journal.Scan(strings.NewReader(ts.ReadFile(filepath.Join(args[0], "journal.jsonl"))), func(e journal.Event) error {
		if e.Run != nil {
			e.Run.Simulated, e.Run.Node, e.Run.NodeText, e.Run.Host = false, "", "", args[2]
		}
		if e.Node == nil {
			return enc.Encode(e)
		}
		e.Node.Simulated, e.Node.Host.Name = "", args[2]
		text, err := e.Node.Encode()
		return errors.Join(err, os.WriteFile(ts.MkAbs(filepath.Join(args[1], "node.json")), text, 0o644), enc.Encode(e))
	})
	ts.Check(errors.Join(err, out.Close()))
}
