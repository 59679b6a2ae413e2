// Package health checks what a GPU says of itself while and after it works:
// errors that the driver reported, slowdowns, and whether its arithmetic is
// right.
package health

import "github.com/peerproof/peerproof/fixtures"

var _ = fixtures.Area("health", 12,
	"recovery-action", "xid", "throttle", "temperature", "power", "compute", "soak", "nvml-responsive")
