// Package transfer checks copies between GPUs. A copy is a transfer with or
// without peer access.
package transfer

import "github.com/peerproof/peerproof/fixtures"

var _ = fixtures.Area("transfer", 7, "first", "copy", "copy-2d", "copy-bidirectional", "copy-graph", "staged", "all-pairs")
