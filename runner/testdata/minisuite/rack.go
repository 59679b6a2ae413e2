package main

import "github.com/peerproof/peerproof/fixtures"

// The suite "rack" is the first catalogue of peerproof with empty bodies: what
// remains is what the harness itself costs.
func init() {
	empty := func(ids ...string) {
		for _, id := range ids {
			fixtures.Specify(id, fixtures.OrderedPairs, nil, "costs nothing", func(*fixtures.Pair) {}, fixtures.Needs())
		}
	}
	suites["rack"] = func() {
		for _, id := range []string{"inventory/gpu-count", "inventory/cuda-init", "inventory/driver-match"} {
			fixtures.Specify(id, fixtures.Whole, nil, "costs nothing", func(*fixtures.Node) {}, fixtures.Needs())
		}
		for _, id := range []string{
			"inventory/model", "inventory/identity", "inventory/context", "inventory/busy", "link/nvlink-active", "link/pcie-idle",
			"link/pcie-loaded", "fabric/state", "bandwidth/host-to-device", "bandwidth/device-to-host", "bandwidth/local",
		} {
			fixtures.Specify(id, fixtures.GPUs, nil, "costs nothing", func(*fixtures.GPU) {}, fixtures.Needs())
		}
		for _, id := range []string{"access/capability-symmetric", "access/enable-both-ways", "bandwidth/symmetric"} {
			fixtures.Specify(id, fixtures.Pairs, nil, "costs nothing", func(*fixtures.Pair) {}, fixtures.Needs())
		}
		empty("access/capability", "access/one-way-is-one-way", "dereference/read", "dereference/write",
			"transfer/first", "transfer/copy", "transfer/staged",
			"bandwidth/read-ce", "bandwidth/write-ce", "bandwidth/read-sm", "bandwidth/write-sm", "bandwidth/like-its-peers")
	}
	suites["isolated"] = func() {
		fixtures.Specify("mini/alone", fixtures.OrderedPairs, nil, "costs a process", func(*fixtures.Pair) {}, fixtures.Needs(), fixtures.Isolated)
	}
}
