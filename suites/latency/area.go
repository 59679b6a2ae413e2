// Package latency checks how long one load, one small copy and one flag take
// on their way.
package latency

import "github.com/peerproof/peerproof/fixtures"

var _ = fixtures.Area("latency", 9, "chase", "chase-host", "load", "load-host", "copy", "flag")
