package inventory

import (
	"cmp"
	"fmt"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("inventory/identity", fixtures.GPUs, Label("gate"),
	"UUID, bus id and, where the product has one, serial are readable and nobody else's", func(g *fixtures.GPU) {
		g.Known()
		code, message := judgeIdentity(g.Facts(), g.Node().GPUs)
		if code != "" {
			fixtures.Fail(code, "%s", message)
		}
	}, fixtures.Needs(fixtures.NVML))

// judgeIdentity compares a GPU's identity with that of all others. A serial
// that NVML does not support is none that the product has.
func judgeIdentity(g fixtures.Facts, all []fixtures.Facts) (code, message string) {
	for _, fact := range []struct{ what, function, value string }{
		{"UUID", "nvmlDeviceGetUUID", g.UUID},
		{"bus id", "nvmlDeviceGetPciInfo", g.BusID},
		{"serial", "nvmlDeviceGetSerial", g.Serial},
	} {
		if call, asked := g.Errors[fact.function]; asked || fact.value == "" && fact.what != "serial" {
			return "unreadable-identity", fmt.Sprintf("the %s of gpu%d is unreadable: %s", fact.what, g.Slot, call.String())
		}
	}
	for _, other := range all {
		if other.Slot == g.Slot {
			continue
		}
		switch {
		case g.UUID == other.UUID:
			return "duplicate-identity", fmt.Sprintf("gpu%d and gpu%d both have the UUID %s", g.Slot, other.Slot, g.UUID)
		case g.BusID == other.BusID || nvmlBusID(g) == nvmlBusID(other):
			return "duplicate-identity", fmt.Sprintf("gpu%d and gpu%d both have the bus id %s", g.Slot, other.Slot, nvmlBusID(g))
		case g.Serial != "" && g.Serial == other.Serial:
			return "duplicate-identity", fmt.Sprintf("gpu%d and gpu%d both have the serial %s", g.Slot, other.Slot, g.Serial)
		}
	}
	return "", ""
}

// nvmlBusID is where NVML says that a GPU is; slots are where PCI says.
func nvmlBusID(g fixtures.Facts) string { return cmp.Or(g.NVMLBusID, g.BusID) }
