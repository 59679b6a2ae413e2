// Package ordering checks that two GPUs which run at once see each other's
// stores, and in the order that the memory model of PTX promises at system
// scope.
package ordering

import "github.com/peerproof/peerproof/fixtures"

var _ = fixtures.Area("ordering", 6, "message-passing", "store-buffering", "load-buffering", "flag-pingpong")
