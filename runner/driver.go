package runner

import (
	"fmt"
	"slices"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/sim"
	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/topology"
)

// bundle picks the driver of a child: the real libraries, or a simulated node
// as it is for a process that sees only these UUIDs and runs after the specs
// that the run started before.
func (t *task) bundle(catalogue *fixtures.Catalogue, visible []string) (*cuda.Bundle, error) {
	if !t.simulated() {
		return cuda.Real(), nil
	}
	file, err := sim.Parse(t.Node, []byte(t.NodeText))
	if err != nil {
		return nil, err
	}
	var started []string
	for _, b := range t.Started {
		specs, err := b.specs(catalogue)
		if err != nil {
			return nil, err
		}
		for _, s := range specs {
			started = append(started, s.ID())
		}
	}
	return file.Open(sim.History{Begun: t.Kind != taskDiscover, Started: started, Visible: visible}), nil
}

// remember notes what the run started so far, where the driver asks for it: a
// simulated node's faults may be of the first copy, or of a later sample.
func (t *task) remember(started func() []fixtures.Spec) {
	if t.simulated() {
		t.Started = batches(started())
	}
}

// visibleNode is the node as a child sees it that is shown these slots alone:
// CUDA numbers them from 0, and no others. What is known of others as peers is
// left out, which is most of a large node's inventory.
func visibleNode(n *topology.Node, slots []int) *topology.Node {
	order := visibleOrder(n, slots)
	seen := *n
	seen.GPUs = slices.Clone(n.GPUs)
	seen.Peers = slices.Clone(n.Peers)
	for i := range seen.GPUs {
		g := &seen.GPUs[i]
		if g.CUDAOrdinal >= 0 {
			g.CUDAOrdinal = slices.Index(order, g.Slot)
		}
		if !slices.Contains(slots, g.Slot) && i < len(seen.Peers) {
			seen.Peers[i] = nil
		}
	}
	return &seen
}

// visibleOrder sorts slots as CUDA numbers their GPUs where all are visible,
// and leaves out those that it does not number.
func visibleOrder(n *topology.Node, slots []int) []int {
	order := slices.DeleteFunc(slices.Clone(slots), func(slot int) bool {
		g := n.BySlot(slot)
		return g == nil || g.CUDAOrdinal < 0
	})
	slices.SortFunc(order, func(a, b int) int { return n.BySlot(a).CUDAOrdinal - n.BySlot(b).CUDAOrdinal })
	return order
}

// uuids are the GPUs of slots as CUDA_VISIBLE_DEVICES takes them, in order.
// One whose UUID cannot be read goes by its number.
func uuids(n *topology.Node, slots []int) []string {
	names := []string{}
	for _, slot := range visibleOrder(n, slots) {
		if g := n.BySlot(slot); g.UUID != "" {
			names = append(names, g.UUID)
		} else {
			names = append(names, fmt.Sprint(g.NVMLIndex))
		}
	}
	return names
}

// simulatedName is the name of the simulated node, "" for the real one.
func (t *task) simulatedName() (string, error) {
	if !t.simulated() {
		return "", nil
	}
	file, err := sim.Parse(t.Node, []byte(t.NodeText))
	if err != nil {
		return "", err
	}
	return file.Name, nil
}

// host is the operating system around the node that the task is about: this
// machine's, or a simulated one's.
func (t *task) host() (cuda.Host, error) {
	if !t.simulated() {
		return cuda.Real().Host, nil
	}
	file, err := sim.Parse(t.Node, []byte(t.NodeText))
	if err != nil {
		return cuda.Host{}, err
	}
	return file.Open(sim.History{}).Host, nil
}
