package fabric

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("fabric/state", fixtures.GPUs, Label("gate"),
	"the GPU's fabric registration is completed, successful and healthy", func(g *fixtures.GPU) {
		g.Known("nvmlDeviceGetGpuFabricInfoV")
		if g.Fabric == nil {
			if g.EndsAtSwitch() {
				fixtures.Skip("driver-too-old", "NVLinks of %s end at a switch, and this driver cannot be asked for the fabric", g)
			}
			fixtures.Skip("no-fabric", "%s has no fabric", g)
		}
		if g.Fabric.State == "not-supported" {
			fixtures.Skip("no-fabric", "NVML: the fabric of %s is not supported", g)
		}
		if code, message := judgeFabric(*g.Fabric); code != "" {
			fixtures.FailWithHint(code, "see Fabric Manager's state and log (systemctl status nvidia-fabricmanager); it must be of the driver's own version",
				"%s: %s", g, message)
		}
	}, fixtures.Needs(fixtures.NVML))

// judgeFabric takes NVML's answer for a GPU that has a fabric.
func judgeFabric(f fixtures.Fabric) (code, message string) {
	switch {
	case f.State != "completed":
		return "fabric-not-ready", fmt.Sprintf("the fabric state is %s, not completed", f.State)
	case f.Status != "success":
		return "fabric-status", fmt.Sprintf("the fabric status is %s, not success", f.Status)
	case f.Health != "healthy" && f.Health != "not-supported" && f.Health != "":
		return "fabric-unhealthy", fmt.Sprintf("the fabric health is %s", f.Health)
	}
	return "", ""
}
