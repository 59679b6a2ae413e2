package topo

import (
	"strings"
	"testing"

	"github.com/peerproof/peerproof/fixtures/topology"
)

func TestWrite(t *testing.T) {
	links := []topology.NVLink{{Link: 0, Active: true, Version: 4, Remote: "0000:2a:00.0"}, {Link: 1, Version: 4, Remote: "0000:2a:00.0"}}
	n := &topology.Node{
		Simulated: "two\x1b[31m",
		GPUs: []topology.GPU{
			{Slot: 0, BusID: "0000:18:00.0", NUMA: 0, NVLinkSupported: true, NVLinks: links, PCIe: topology.PCIe{GPUMaxGen: 5, GPUMaxWidth: 16, SlotMaxGen: 4, SlotMaxWidth: 16}},
			{Slot: 1, BusID: "0000:2a:00.0", NUMA: -1, NVLinkSupported: true},
			{Slot: 3, BusID: "0000:3a:00.0", NUMA: 1},
		},
		Peers: topology.NewPeers(3),
	}
	n.Peers[0][2].Ancestor, n.Peers[2][0].Ancestor = topology.ClassSYS, topology.ClassSYS
	var b strings.Builder
	if err := Of(n, nil).Write(&b); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, says := range []string{
		"SIMULATED node two",
		"gpu0  X     NV2   SYS   0     31.5       1           0000:18:00.0\n",
		"gpu1  NV2   X     ?     ?     ?          0           0000:2a:00.0\n",
		"gpu0  X     50.0  31.5\n", // two links of NVLink 4, also that which is down; PCIe by the one end that is known
	} {
		if !strings.Contains(got, says) {
			t.Errorf("no line %q in\n%s", says, got)
		}
	}
	if strings.Contains(got, "\x1b") {
		t.Error("an escape character of a name reached the output")
	}
}
