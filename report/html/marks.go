package html

import (
	"fmt"
	"slices"
	"strings"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

// loadedLink is the PCIe link of a GPU as it was measured under load.
type loadedLink struct {
	gen, width int
	bad        bool
}

// maxMarked is how many marked parts are named below the drawing.
const maxMarked = 40

// measured takes from the specs what the drawing shows of a GPU beside its
// findings.
func (s *sketch) measured(r *report.Results) {
	for i := range r.Specs {
		spec := &r.Specs[i]
		if spec.Subject == nil || spec.Subject.GPU == "" {
			continue
		}
		failed := spec.Verdict == verdict.Fail || spec.Verdict == verdict.Error && !report.Follows(spec.Code)
		at := s.index(spec.Subject.GPU)
		switch check := spec.Check(); {
		case check == "link/pcie-loaded" && at >= 0:
			link := loadedLink{bad: spec.Verdict == verdict.Fail}
			for _, m := range spec.Measurements {
				switch m.Unit {
				case "gen":
					link.gen = int(m.Value)
				case "lanes":
					link.width = int(m.Value)
				}
			}
			if link.gen > 0 && link.width > 0 {
				s.pcie[at] = link
			}
		case check == "fabric/state" && failed:
			if s.code == "" {
				s.code = spec.Code
			}
			s.notReady = append(s.notReady, spec.Subject.GPU)
		}
	}
}

// pcieText is a GPU's PCIe link, as it ran under load where that was measured,
// else what slot and GPU can do; and its class.
func (s *sketch) pcieText(i int) (text, class string) {
	gen, width := s.node.GPUs[i].PCIe.Max()
	link, ok := s.pcie[i]
	if ok {
		gen, width = link.gen, link.width
	}
	if gen == 0 {
		return "", ""
	}
	text = fmt.Sprintf("PCIe gen%d x%d", gen, width)
	if link.bad {
		return "✗ " + text, "strong"
	}
	return text, ""
}

// absence is why a slot has no usable GPU, in few letters.
func absence(g *topology.GPU) string {
	switch {
	case g.Expected:
		return "EMPTY SLOT"
	case g.Hung != "":
		return "NO ANSWER"
	case g.Lost:
		return "OFF THE BUS"
	case g.NVMLIndex < 0:
		return "NOT IN NVML"
	default:
		return "NOT IN CUDA"
	}
}

// fabricText says on which GPUs the fabric is not ready, "" where it is.
func (s *sketch) fabricText() string {
	where := strings.Join(s.notReady[:min(len(s.notReady), 4)], ", ")
	switch {
	case len(s.notReady) == 0:
		return ""
	case len(s.notReady) > 1 && len(s.notReady) == len(s.node.GPUs):
		where = fmt.Sprintf("all %d GPUs", len(s.notReady))
	case len(s.notReady) > 4:
		where = fmt.Sprintf("%d of %d GPUs", len(s.notReady), len(s.node.GPUs))
	}
	return fit(name(s.code), 24) + " on " + where
}

// marks names in words what is marked: on a narrow screen the drawing scrolls.
func (s *sketch) marks(findings []report.Finding) {
	mark := func(text string) {
		if len(s.Marked) < maxMarked {
			s.Marked = append(s.Marked, text)
		} else {
			s.Unmarked++
		}
	}
	for i := range s.node.GPUs {
		g := &s.node.GPUs[i]
		slot := topology.SlotName(g.Slot)
		f, bad := s.state[i]
		switch why := report.Absent(g); {
		case why != "":
			mark(slot + " is missing: " + why)
		case bad:
			mark(f.Title)
		}
		if link := s.pcie[i]; link.bad {
			mark(fmt.Sprintf("%s: PCIe gen%d x%d under load", slot, link.gen, link.width))
		}
	}
	for _, f := range findings {
		if f.Scope == report.OfPair && !slices.ContainsFunc(f.Slots, func(slot string) bool { return s.index(slot) < 0 }) {
			mark(f.Title)
		}
	}
	if text := s.fabricText(); text != "" {
		mark("NVSwitch fabric: " + text)
	}
}

// Wide are the classes that keep a drawing's text from being scaled down until
// nobody can read it: it scrolls from there.
func (d *drawing) Wide() string {
	switch {
	case d.Width > 1300:
		return " wider"
	case d.Width > 600:
		return " wide"
	default:
		return ""
	}
}
