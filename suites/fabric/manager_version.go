package fabric

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("fabric/manager-version", fixtures.Whole, Label("gate"),
	"Fabric Manager is of the driver's version", func(n *fixtures.Node) {
		n.Known("nvmlDeviceGetGpuFabricInfoV")
		has, untold := false, false
		for _, g := range n.GPUs {
			has = has || g.Fabric != nil && g.Fabric.State != "not-supported"
			untold = untold || g.Fabric == nil && g.EndsAtSwitch()
		}
		switch {
		case !has && untold:
			fixtures.Skip("driver-too-old", "NVLinks of this node end at switches, and this driver cannot be asked for the fabric")
		case !has:
			fixtures.Skip("no-fabric", "no GPU of this node has a fabric")
		case n.Host.FabricManager == "":
			fixtures.Skip("not-supported", "neither Fabric Manager's log, which is root's, nor the package database tells its version; where it runs elsewhere (the other trays of a rack) there is none here")
		case n.Host.FabricManager != n.Driver.NVML:
			fixtures.FailWithHint("version-mismatch", "install Fabric Manager of the driver's own version (nvidia-fabricmanager) and restart it: another one does not start",
				"Fabric Manager is %s, the driver %s", n.Host.FabricManager, n.Driver.NVML)
		}
	}, fixtures.Needs(fixtures.NVML))
