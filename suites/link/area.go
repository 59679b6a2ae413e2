// Package link checks the NVLinks and PCIe links themselves: that they are up,
// and trained as high as both ends can.
package link

import "github.com/peerproof/peerproof/fixtures"

var _ = fixtures.Area("link", 2,
	"nvlink-active", "nvlink-peer", "nvlink-remote", "pcie-idle", "pcie-loaded", "nvlink-errors", "pcie-errors")
