package inventory

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("inventory/power-limit", fixtures.GPUs, Label(),
	"the power limit is what the profile says", func(g *fixtures.GPU) {
		want := watts(g.Profile().ExpectedModes().PowerLimit)
		asProfiled(g, setting{
			what: "the power limit", want: want, got: watts(g.Modes.PowerLimit), code: "wrong-power-limit",
			hint: fmt.Sprintf("the product ships with %s; nvidia-smi -i %s -pl sets it, and a power capping service or the BMC may set it back",
				orUnknown(watts(g.Modes.PowerDefault)), g.BusID),
			functions: []string{"nvmlDeviceGetPowerManagementLimit"},
		})
	}, fixtures.Needs(fixtures.NVML))

func watts(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d W", n)
}
