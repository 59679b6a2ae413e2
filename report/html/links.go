package html

import (
	"fmt"
	"slices"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/report"
)

// links draws below the GPUs an arc for each pair that NVLinks join directly,
// and for each pair that a finding is about.
func (s *sketch) links(top float64, findings []report.Finding) float64 {
	bad := map[[2]int]string{}
	for _, f := range findings {
		if f.Scope == report.OfPair && len(bad) < 24 {
			if a, b := s.index(f.Slots[0]), s.index(f.Slots[1]); a >= 0 && b >= 0 {
				bad[[2]int{a, b}] = f.Title
			}
		}
	}
	if s.small {
		return top
	}
	var arcs []arc
	for a := range s.node.GPUs {
		for b := a + 1; b < len(s.node.GPUs); b++ {
			one := arc{a: a, b: b}
			if !s.node.Switched() {
				one.links = s.p.Path(s.node, s.node.GPUs[a].Slot, s.node.GPUs[b].Slot).Links
			}
			one.title, one.bad = bad[[2]int{a, b}], bad[[2]int{a, b}] != ""
			if one.links > 0 || one.bad {
				arcs = append(arcs, one)
			}
		}
	}
	deepest := top
	for _, one := range arcs {
		c, depth := s.arc(one, top)
		s.Cords = append(s.Cords, c)
		deepest = max(deepest, depth)
	}
	return deepest
}

type arc struct {
	a, b, links int
	bad         bool
	title       string
}

func (s *sketch) arc(one arc, top float64) (cord, float64) {
	from, to := s.at[one.a], s.at[one.b]
	x1, x2 := from.X+from.W/2, to.X+to.W/2
	if x1 > x2 {
		x1, x2 = x2, x1
	}
	// Arcs of one GPU leave it side by side.
	span := x2 - x1
	x1 += min(40, span/16)
	x2 -= min(40, span/16)
	depth := 16 + span/5.5
	c := cord{
		Class: "cord", Text: fmt.Sprint(one.links),
		Path: fmt.Sprintf("M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", x1, top, x1, top+depth*4/3, x2, top+depth*4/3, x2, top),
		X:    (x1 + x2) / 2, Y: top + depth + 4,
		Title: fmt.Sprintf("gpu%d to gpu%d: %d NVLinks", s.node.GPUs[one.a].Slot, s.node.GPUs[one.b].Slot, one.links),
	}
	if one.bad {
		c.Class, c.Title = "cord bad", name(one.title)
		c.Text = fmt.Sprintf("✗ gpu%d–gpu%d", s.node.GPUs[one.a].Slot, s.node.GPUs[one.b].Slot)
	}
	return c, top + depth + 12
}

func (s *sketch) index(slot string) int {
	return slices.IndexFunc(s.node.GPUs, func(g topology.GPU) bool { return topology.SlotName(g.Slot) == slot })
}

// describe says in words what the drawing shows.
func (s *sketch) describe(findings []report.Finding) {
	missing, faulty := 0, 0
	for i := range s.node.GPUs {
		_, bad := s.state[i]
		switch {
		case report.Absent(&s.node.GPUs[i]) != "":
			missing++
		case bad:
			faulty++
		}
	}
	pairs := 0
	for _, f := range findings {
		if f.Scope == report.OfPair {
			pairs++
		}
	}
	s.Label = fmt.Sprintf("Drawing of the server: %d GPU slots, %d missing, %d faulty, %d faulty pairs", len(s.node.GPUs), missing, faulty, pairs)
	if len(s.node.GPUs) == 0 {
		s.Legend = append(s.Legend, "neither PCI nor a profile names a GPU")
		return
	}
	s.marks(findings)
	s.Legend = append(s.Legend, "✗ and a thick frame: faulty", "dashed frame: missing")
	if !s.node.Switched() {
		s.Legend = append(s.Legend, "number at an arc: NVLinks between the two")
	}
	if pairs > 0 {
		s.Legend = append(s.Legend, "✗ at an arc: the pair fails")
	}
}
