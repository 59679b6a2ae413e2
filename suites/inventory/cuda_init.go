package inventory

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("inventory/cuda-init", fixtures.Whole, Label("gate"),
	"cuInit succeeds", func(n *fixtures.Node) {
		open, start := n.Driver.CUDAOpen, n.Driver.CUDAInit
		switch {
		case !open.OK():
			fixtures.Error("blocked-by", "blocked by inventory/driver-match: %s", open)
		case n.AllHidden() && start != nil && start.Code == noDevice:
			fixtures.Skip("no-subjects", "every GPU is hidden from this run%s", hiddenGPUs(n))
		case start.Hang:
			fixtures.Error("hang", "cuInit did not return")
		case !start.OK():
			fixtures.FailWithHint("cuda-init-failed", initHint(start.Code, n), "%s", start)
		}
	}, fixtures.Needs())

// noDevice is CUDA_ERROR_NO_DEVICE.
const noDevice = 100

// initHint names Fabric Manager only where the node has a fabric that it
// would have to bring up.
func initHint(code int, n *fixtures.Node) string {
	const systemNotReady, driverMismatch = 802, 803
	switch {
	case code == driverMismatch:
		return "the user-space driver and the kernel module are of different versions: see inventory/driver-match"
	case code == systemNotReady && n.Switched():
		return "the GPUs hang on NVSwitches and their fabric is not up: start Fabric Manager of the driver's own version (systemctl status nvidia-fabricmanager), then see fabric/state"
	case code == systemNotReady:
		return "the driver is still starting or a service that it waits for is not running: see the kernel log"
	}
	return "see the kernel log for NVRM lines, and whether another process holds the driver"
}
