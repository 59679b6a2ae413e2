// Package bandwidth checks how fast the paths are, each figure against the
// theory of its path and against its peers.
package bandwidth

import "github.com/peerproof/peerproof/fixtures"

var _ = fixtures.Area("bandwidth", 8,
	"read-ce", "write-ce", "read-sm", "write-sm", "bidirectional-ce", "bidirectional-sm", "symmetric", "like-its-peers",
	"peer-beats-staged", "concurrent", "all-to-one", "one-to-all", "host-to-device", "device-to-host",
	"host-bidirectional", "local", "size-curve")
