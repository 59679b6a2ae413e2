// Package memory checks the GPUs' own memory: that it holds what is written to
// it, and what its error correction says of it.
package memory

import "github.com/peerproof/peerproof/fixtures"

var _ = fixtures.Area("memory", 11, "patterns", "ecc", "remapped-rows")
