// Command peerproof tests the GPUs of one server. A binary with suites of its
// own is these lines with one more import.
package main

import (
	"os"

	"github.com/peerproof/peerproof/runner/cli"
	_ "github.com/peerproof/peerproof/suites/all"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
