// Package inventory checks that the node is what it should be: every GPU
// listed by everybody, of the right kind, with a driver that starts.
package inventory

import "github.com/peerproof/peerproof/fixtures"

var _ = fixtures.Area("inventory", 1,
	"gpu-count", "model", "same-firmware", "identity", "topology", "cuda-init", "context", "driver-match",
	"mig-off", "compute-mode", "persistence", "power-limit", "cc-mode", "busy", "iommu-acs", "container", "bar1")
