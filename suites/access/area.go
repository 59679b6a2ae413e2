// Package access checks peer access itself: who may touch whose memory, and
// that nobody else may.
package access

import "github.com/peerproof/peerproof/fixtures"

var _ = fixtures.Area("access", 4,
	"capability-symmetric", "capability", "nvml-agrees", "enable-both-ways", "one-way-is-one-way", "disable-revokes",
	"enable-twice", "disable-twice", "bad-flags", "self", "simultaneous-peers", "enable-cost")
