package runner

import (
	"context"
	"runtime"

	"github.com/peerproof/peerproof/fixtures/topology"
)

// isolated runs the isolated specs from place i on, up to the next that is
// not: each in a child of its own, as many at once as there are processors,
// and never two on one GPU.
func (s *supervisor) isolated(ctx context.Context, i int) {
	var pending []int
	for ; i < len(s.plan); i++ {
		if s.verdicts[i] != "" || s.plan[i].Settled != nil {
			continue
		}
		if !s.plan[i].Check.Isolated {
			break
		}
		pending = append(pending, i)
	}
	for {
		if !s.over() {
			pending = s.launch(pending)
		}
		if len(s.live) == 0 {
			return
		}
		s.wait(ctx)
	}
}

// launch starts the children that can run beside those that do, and returns
// the specs that have no verdict yet.
func (s *supervisor) launch(pending []int) []int {
	taken := map[int]bool{} // slots
	running := map[int]bool{}
	for _, w := range s.live {
		running[w.specs[0]] = true
		for _, slot := range s.slots(w.specs[0]) {
			taken[slot] = true
		}
	}
	var open []int
	for k, i := range pending {
		if s.over() || len(s.live) >= runtime.NumCPU() {
			return append(open, pending[k:]...)
		}
		if s.verdicts[i] != "" {
			continue
		}
		if !running[i] && s.decide(i) {
			continue
		}
		open = append(open, i)
		slots := s.slots(i)
		if running[i] || anyOf(taken, slots) {
			continue
		}
		s.sync() // such a spec may take the machine down
		if s.start([]int{i}, slots) != nil {
			for _, slot := range slots {
				taken[slot] = true
			}
		}
	}
	return open
}

// slots are the GPUs that a spec uses: all where it is about the node.
func (s *supervisor) slots(i int) []int {
	if slots := s.plan[i].Subject.GPUs(); slots != nil {
		return slots
	}
	return allSlots(s.node)
}

func allSlots(n *topology.Node) []int {
	slots := make([]int, len(n.GPUs))
	for i, g := range n.GPUs {
		slots[i] = g.Slot
	}
	return slots
}

func anyOf(set map[int]bool, keys []int) bool {
	for _, k := range keys {
		if set[k] {
			return true
		}
	}
	return false
}
