package html

import (
	"fmt"
	"slices"
	"strings"

	"github.com/peerproof/peerproof/fixtures/profile"
	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/report"
)

// drawing is the server: NUMA nodes, PCIe switches below them, GPUs below
// those, and what joins the GPUs at the bottom.
type drawing struct {
	Width, Height float64
	Label         string
	Boxes         []box
	Cords         []cord
	Legend        []string
	Marked        []string // what is marked in it, in words
	Unmarked      int      // further marks that are not told
}

// box is a rectangle with lines of text.
type box struct {
	X, Y, W, H float64
	Class      string // numa, switch, gpu, gpu bad, gpu gone, fabric
	Lines      []boxLine
}

type boxLine struct {
	X, Y  float64
	Text  string
	Class string
}

// cord is a link: a path with a word at its middle.
type cord struct {
	Class, Path, Text string
	X, Y              float64
	Title             string
}

// Measures of the drawing, in units of which a screen shows one as a pixel.
const (
	boxW, boxH   = 132.0, 92.0
	smallW       = 84.0
	smallH       = 40.0
	gap          = 8.0
	perRow       = 12 // GPUs of a NUMA node in a row, where they are many
	oneRow       = 16 // GPUs that still stand in one row
	numaHeight   = 26.0
	switchHeight = 20.0
	fabricHeight = 30.0
)

// cluster is GPUs below one PCIe switch, or one alone.
type cluster struct {
	bridge string // "" where there is no switch
	gpus   []int  // of node.GPUs
}

// socket is a NUMA node.
type socket struct {
	numa     int
	clusters []cluster
}

// sketch places boxes.
type sketch struct {
	*drawing
	node  *topology.Node
	p     *profile.Profile
	at    map[int]box // of a GPU
	state map[int]report.Finding
	pcie  map[int]loadedLink // measured
	// notReady are the slots whose fabric/state failed, with the first code.
	notReady []string
	code     string
	small    bool
}

func newDrawing(r *report.Results, p *profile.Profile, findings []report.Finding) *drawing {
	n := r.Node
	s := sketch{drawing: &drawing{}, node: n, p: p, at: map[int]box{}, state: map[int]report.Finding{}, pcie: map[int]loadedLink{}, small: len(n.GPUs) > oneRow}
	for _, f := range findings {
		if f.Scope != report.OfGPU {
			continue
		}
		for i := range n.GPUs {
			if _, told := s.state[i]; !told && topology.SlotName(n.GPUs[i].Slot) == f.Slots[0] {
				s.state[i] = f
			}
		}
	}
	s.measured(r)
	bottom := s.sockets(sockets(n))
	bottom = s.fabric(bottom)
	bottom = s.links(bottom, findings)
	s.Height = bottom + gap
	s.describe(findings)
	return s.drawing
}

// sockets groups GPUs by NUMA node and PCIe switch: the lowest bridge that a
// GPU shares with another one, or NVML's word where no bridges are known.
func sockets(n *topology.Node) []socket {
	var all []socket
	shared := map[string]int{}
	for i := range n.GPUs {
		for _, b := range n.GPUs[i].Above {
			shared[b.BusID]++
		}
	}
	for i := range n.GPUs {
		g := &n.GPUs[i]
		at := slices.IndexFunc(all, func(s socket) bool { return s.numa == g.NUMA })
		if at < 0 {
			at = len(all)
			all = append(all, socket{numa: g.NUMA})
		}
		s := &all[at]
		bridge := ""
		for _, b := range g.Above {
			if shared[b.BusID] > 1 {
				bridge = b.BusID
			}
		}
		beside := slices.IndexFunc(s.clusters, func(c cluster) bool {
			if bridge != "" || c.bridge != "" {
				return c.bridge == bridge && bridge != ""
			}
			return n.Ancestor(n.GPUs[c.gpus[0]].Slot, g.Slot) == topology.ClassPIX
		})
		if beside < 0 {
			s.clusters = append(s.clusters, cluster{bridge: bridge, gpus: []int{i}})
			continue
		}
		s.clusters[beside].gpus = append(s.clusters[beside].gpus, i)
	}
	slices.SortStableFunc(all, func(a, b socket) int { return a.numa - b.numa })
	return all
}

// sockets draws the tree of PCIe from the top and returns where it ends.
func (s *sketch) sockets(all []socket) float64 {
	w, h := boxW, boxH
	if s.small {
		w, h = smallW, smallH
	}
	x, bottom := gap, 0.0
	top := gap
	for _, one := range all {
		if s.small {
			x = gap
		}
		left, column, y := x, 0, top+numaHeight+gap+switchHeight+gap
		if s.small {
			y = top + numaHeight + gap
		}
		right := x
		for _, c := range one.clusters {
			start := x
			for _, i := range c.gpus {
				if s.small && column == perRow {
					x, column, y = left, 0, y+h+gap
				}
				s.gpu(i, x, y, w, h)
				x += w + gap
				column++
				right = max(right, x-gap)
			}
			if !s.small && (len(c.gpus) > 1 || c.bridge != "") {
				text := "PCIe switch"
				if c.bridge != "" {
					text += " " + name(c.bridge)
				}
				s.Boxes = append(s.Boxes, textBox("switch", start, top+numaHeight+gap, x-gap-start, switchHeight, text))
			}
		}
		title := fmt.Sprintf("CPU socket, NUMA node %d", one.numa)
		if one.numa < 0 {
			title = "CPU, NUMA node unknown"
		}
		s.Boxes = append(s.Boxes, textBox("numa", left, top, max(right-left, 210), numaHeight, title))
		x = max(right, left+210) + 2*gap
		bottom = max(bottom, y+h)
		s.Width = max(s.Width, x-gap)
		if s.small {
			top = y + h + 2*gap
		}
	}
	if len(all) == 0 {
		s.Boxes = append(s.Boxes, textBox("gone", gap, gap, 300, 40, "no GPU was found"))
		s.Width, bottom = 316, 56
	}
	s.Width = max(s.Width, 330)
	return bottom
}

func textBox(class string, x, y, w, h float64, text string) box {
	return box{X: x, Y: y, W: w, H: h, Class: class, Lines: []boxLine{{x + w/2, y + h/2 + 4, text, "mid"}}}
}

// gpu draws one slot.
func (s *sketch) gpu(i int, x, y, w, h float64) {
	g := &s.node.GPUs[i]
	slot := topology.SlotName(g.Slot)
	b := box{X: x, Y: y, W: w, H: h, Class: "gpu"}
	put := func(text, class string) {
		b.Lines = append(b.Lines, boxLine{x + 6, y + 14*float64(len(b.Lines)+1) + 1, text, class})
	}
	finding, bad := s.state[i]
	switch {
	case report.Absent(g) != "":
		b.Class = "gpu gone"
		put("✗ "+slot, "strong")
		if s.small {
			put("MISSING", "strong")
			break
		}
		put(absence(g), "strong")
		put(fit(name(g.BusID), 18), "")
		put("missing: see", "")
		put("What to do first", "")
	case s.small:
		if bad {
			b.Class = "gpu bad"
			slot = "✗ " + slot
		}
		put(slot, "strong")
		put(s.linkText(g), "")
	default:
		if bad {
			b.Class = "gpu bad"
			put("✗ "+slot+" FAULTY", "strong")
		} else {
			put(slot, "strong")
		}
		put(fit(strings.TrimPrefix(strings.TrimPrefix(name(g.Model), "NVIDIA "), "Tesla "), 16), "")
		put(fit(name(g.BusID), 18), "")
		put(s.pcieText(i))
		put(s.linkText(g), "")
		if bad && len(finding.Specs) > 0 {
			put(fit(name(finding.Specs[0].Code), 16), "strong")
		}
	}
	s.at[i] = b
	s.Boxes = append(s.Boxes, b)
}

func fit(text string, runes int) string {
	all := []rune(text)
	if len(all) <= runes {
		return text
	}
	return string(all[:runes-1]) + "…"
}

// linkText is how many NVLinks of a GPU are up: "18/18 NVLinks".
func (s *sketch) linkText(g *topology.GPU) string {
	active := 0
	for _, l := range g.NVLinks {
		if l.Active {
			active++
		}
	}
	expected, _ := s.node.ExpectedLinks(g.Slot)
	expected = max(expected, active)
	if expected == 0 {
		return "no NVLink"
	}
	text := fmt.Sprintf("%d/%d NVLinks", active, expected)
	if s.small {
		text = fmt.Sprintf("%d/%d links", active, expected)
	}
	if active < expected {
		text = "✗ " + text
	}
	return text
}

// fabric draws the NVSwitches below the GPUs, with a cord to each.
func (s *sketch) fabric(top float64) float64 {
	if !s.node.Switched() {
		return top
	}
	y := top + 3*gap
	if s.small {
		y = top + gap
	}
	var remotes []string
	for i := range s.node.GPUs {
		for _, l := range s.node.GPUs[i].NVLinks {
			if l.Switch && l.Remote != "" && !slices.Contains(remotes, l.Remote) && len(remotes) < 100 {
				remotes = append(remotes, l.Remote)
			}
		}
	}
	text := "NVSwitch fabric"
	if len(remotes) > 0 {
		text += fmt.Sprintf(", %d switches seen", len(remotes))
	}
	class := "fabric"
	if wrong := s.fabricText(); wrong != "" {
		class, text = "fabric bad", "✗ "+text+": "+wrong
	}
	for i := range s.node.GPUs {
		g, b := &s.node.GPUs[i], s.at[i]
		if s.small || report.Absent(g) != "" {
			continue
		}
		c := cord{Class: "cord", Path: fmt.Sprintf("M%g %gV%g", b.X+b.W/2, b.Y+b.H, y), X: b.X + b.W/2, Y: y - 8}
		if strings.HasPrefix(s.linkText(g), "✗") {
			c.Class, c.Text = "cord bad", "✗"
			c.Title = s.linkText(g)
		}
		if slices.Contains(s.notReady, topology.SlotName(g.Slot)) {
			c.Class, c.Text = "cord bad", "✗"
			c.Title = "fabric/state: " + name(s.code)
		}
		s.Cords = append(s.Cords, c)
	}
	s.Boxes = append(s.Boxes, textBox(class, gap, y, s.Width-2*gap, fabricHeight, text))
	return y + fabricHeight
}
