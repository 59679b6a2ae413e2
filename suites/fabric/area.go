// Package fabric checks what connects GPUs through NVSwitches.
package fabric

import "github.com/peerproof/peerproof/fixtures"

var _ = fixtures.Area("fabric", 3, "state", "manager-version")
