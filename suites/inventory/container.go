package inventory

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("inventory/container", fixtures.Whole, Label("gate"),
	"the container has the device nodes and the shared memory that GPU work needs", func(n *fixtures.Node) {
		if !n.Host.Container {
			fixtures.Skip("no-container", "the process runs in no container")
		}
		around := n.Host.Surroundings
		n.Record("/dev/shm", float64(around.SharedMemory)/(1<<20), "MiB")
		if without := withoutCapabilities(around.Capabilities); len(without) > 0 {
			n.Record("capabilities without", float64(len(without)), "capabilities")
			By("the container has no " + strings.Join(without, ", nor "))
		}
		missing := slices.Clone(around.MissingNodes)
		for _, g := range n.GPUs {
			if g.NVMLIndex >= 0 && g.OnPCI && g.DeviceNode == "" {
				missing = append(missing, fmt.Sprintf("that of gpu%d at %s", g.Slot, g.BusID))
			}
		}
		code, message := judgeContainer(missing, around.SharedMemory, n.Profile().SharedMemory())
		switch code {
		case "":
			if n.AllHidden() {
				fixtures.Skip("no-subjects", "the container has what GPU work needs, and every GPU is hidden from this run%s", hiddenGPUs(n))
			}
		case "small-shm":
			fixtures.FailWithHint(code, "start the container with --shm-size or --ipc=host; in a pod mount an emptyDir of medium Memory at /dev/shm", "%s", message)
		default:
			fixtures.FailWithHint(code, "give the container its GPUs through NVIDIA's container toolkit (--gpus, or the device plug-in), not by single devices", "%s", message)
		}
	}, fixtures.Needs())

// judgeContainer says what is missing in a container. A size of 0 is one that
// could not be read, or a /dev/shm that is not mounted.
func judgeContainer(missing []string, shm, least uint64) (code, message string) {
	switch {
	case len(missing) > 0:
		return "missing-device-node", "device nodes are missing: " + strings.Join(missing, ", ")
	case shm < least:
		return "small-shm", fmt.Sprintf("/dev/shm has %d MiB, %d MiB are needed: collectives between processes exchange their buffers there", shm>>20, least>>20)
	}
	return "", ""
}

// neededCapabilities are those that some checks use, by their numbers in
// capabilities(7), and for what. Without them those checks say less.
var neededCapabilities = []struct {
	bit  uint
	name string
}{
	{34, "CAP_SYSLOG (to read the kernel log)"},
	{23, "CAP_SYS_NICE (to place pinned memory on a NUMA node)"},
	{14, "CAP_IPC_LOCK (to lock memory beyond the limit)"},
}

func withoutCapabilities(mask *uint64) (without []string) {
	for _, c := range neededCapabilities {
		if mask != nil && *mask>>c.bit&1 == 0 {
			without = append(without, c.name)
		}
	}
	return without
}
