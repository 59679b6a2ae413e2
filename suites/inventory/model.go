package inventory

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("inventory/model", fixtures.GPUs, Label(),
	"the GPU is the model, with the memory and the VBIOS, that the profile says", func(g *fixtures.GPU) {
		expected, said := g.Profile().ExpectedGPU()
		if !said {
			fixtures.Skip("no-profile", "%s is a %s; no profile says what it should be", g, g.Model)
		}
		g.Known("nvmlDeviceGetName", "nvmlDeviceGetMemoryInfo", "nvmlDeviceGetVbiosVersion")
		for _, fact := range []struct{ what, want, got string }{
			{"model", expected.Model, g.Model},
			{"memory", expected.Memory, expected.MemoryAs(g.MemoryBytes)},
			{"VBIOS", expected.VBIOS, g.VBIOS},
		} {
			if fact.want != "" && fact.want != fact.got {
				fixtures.Fail("wrong-model", "%s of %s is %q, the profile says %q", fact.what, g, fact.got, fact.want)
			}
		}
	}, fixtures.Needs(fixtures.NVML))
