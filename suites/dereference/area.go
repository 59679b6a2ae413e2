// Package dereference checks loads and stores of one GPU on another's memory.
package dereference

import "github.com/peerproof/peerproof/fixtures"

var _ = fixtures.Area("dereference", 5, "read", "write", "atomics", "vmm", "pool", "ipc")
