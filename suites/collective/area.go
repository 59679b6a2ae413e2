// Package collective checks what GPUs do together through NCCL.
package collective

import "github.com/peerproof/peerproof/fixtures"

var _ = fixtures.Area("collective", 10, "all-reduce", "all-gather", "reduce-scatter", "send-recv", "p2p-speedup")
