package html

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/peerproof/peerproof/fixtures/profile"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/topo"
)

// matrices is everything that was measured, as tables.
type matrices struct {
	Paths   *grid
	Classes []classLine
	Pairs   []*grid   // a figure of each pair
	Other   []*grid   // counts and the like, folded
	Omitted []*grid   // of those, where GPUs are many: their range alone
	GPUs    *gpuTable // figures of one GPU each
	Node    []nodeFigure
	Many    bool
}

// grid is a matrix of GPUs by GPUs.
type grid struct {
	Check, Name, Unit, Text string
	Bars                    []string // "NV18: floor 315, theory 450, 56 pairs"
	Slots                   []string
	Narrow                  bool
	Bad, N                  int
	Lowest, Highest, Median float64
	Ordered                 bool
	cells                   []cell
	bars                    map[bar]int
	values                  []float64
	theory                  bool // values are shown as parts of it
}

// bar is what values of one path class are held against.
type bar struct {
	class         string
	floor, theory float64
}

// cell is one figure. Mark is a rune of symbol, or 0; text is shown where there
// is no value.
type cell struct {
	value, share float64
	has          bool
	mark         rune
	text         string
}

// named figures: "bandwidth at 64 KiB" is a point of a curve, "bandwidth
// gpu1->gpu7" the cell of a matrix.
var (
	sizeForm = regexp.MustCompile(`^(.*) at ([0-9]+) (bytes|KiB|MiB|GiB)$`)
	cellForm = regexp.MustCompile(`^(.*) (gpu[0-9]{1,6})(->?)(gpu[0-9]{1,6})$`)
)

func newMatrices(r *report.Results, expected *profile.Profile) *matrices {
	m := &matrices{Many: len(r.GPUs) > manyGPUs}
	b := gridBuilder{index: map[string]int{}, grids: map[[2]string]*grid{}, of: map[string][]*grid{}, narrow: m.Many}
	for i := range r.GPUs {
		b.index[r.GPUs[i].Slot] = i
		b.slots = append(b.slots, r.GPUs[i].Slot)
	}
	for i := range r.Specs {
		b.take(&r.Specs[i])
	}
	for i := range r.Specs {
		b.marks(&r.Specs[i])
	}
	for _, g := range b.order {
		g.finish()
		switch {
		case slices.Contains([]string{"GB/s", "ns", "us", "ms", "s"}, g.Unit) || g.theory || len(g.bars) > 0:
			m.Pairs = append(m.Pairs, g)
		case m.Many:
			m.Omitted = append(m.Omitted, g)
		default:
			m.Other = append(m.Other, g)
		}
	}
	slices.SortStableFunc(m.Pairs, func(a, b *grid) int { return a.order() - b.order() })
	m.GPUs = newGPUTable(r, b.slots)
	m.Node = nodeFigures(r)
	if r.Node != nil && len(r.Node.GPUs) > 0 {
		m.paths(topo.Of(r.Node, expected))
	}
	return m
}

// order puts figures that have a bar first, then other bandwidths, then times.
func (g *grid) order() int {
	switch {
	case len(g.bars) > 0:
		return 0
	case g.Unit == "GB/s":
		return 1
	default:
		return 2
	}
}

// gridBuilder sorts figures into grids.
type gridBuilder struct {
	slots  []string
	index  map[string]int
	grids  map[[2]string]*grid
	of     map[string][]*grid // by check
	order  []*grid
	narrow bool
}

func (b *gridBuilder) take(s *report.Spec) {
	if s.Subject != nil && s.Subject.GPU != "" {
		return
	}
	for i := range s.Measurements {
		m := &s.Measurements[i]
		from, to, title, ordered := "", "", m.Name, true
		if s.Subject != nil {
			from, to = s.Subject.From, s.Subject.To
			ordered = strings.Contains(s.ID, "->")
			if sizeForm.MatchString(m.Name) {
				continue
			}
		} else {
			found := cellForm.FindStringSubmatch(m.Name)
			if found == nil {
				continue
			}
			title, from, to, ordered = found[1], found[2], found[4], found[3] == "->"
		}
		row, ok := b.index[from]
		column, also := b.index[to]
		if ok && also {
			b.grid(s, title, m, ordered).put(s, m, row, column)
		}
	}
}

func (b *gridBuilder) grid(s *report.Spec, title string, m *verdict.Measurement, ordered bool) *grid {
	key := [2]string{s.Check(), title}
	g := b.grids[key]
	if g == nil {
		g = &grid{
			Check: s.Check(), Name: title, Unit: m.Unit, Text: s.Text, Slots: b.slots, Narrow: b.narrow, Ordered: ordered,
			cells: make([]cell, len(b.slots)*len(b.slots)), bars: map[bar]int{},
		}
		b.grids[key] = g
		b.of[g.Check] = append(b.of[g.Check], g)
		b.order = append(b.order, g)
	}
	return g
}

func (g *grid) put(s *report.Spec, m *verdict.Measurement, row, column int) {
	c := &g.cells[row*len(g.Slots)+column]
	c.value, c.has, c.share = m.Value, true, math.NaN()
	if m.Theoretical > 0 {
		c.share, g.theory = m.Value/m.Theoretical, true
	}
	if m.Floor > 0 || m.Theoretical > 0 {
		g.bars[bar{s.Path, m.Floor, m.Theoretical}]++
	}
	g.values = append(g.values, m.Value)
	switch {
	case m.Floor > 0 && m.Value < m.Floor && s.Verdict == verdict.Waived:
		c.mark = 'w'
	case m.Floor > 0 && m.Value < m.Floor:
		c.mark = '✗'
	case s.Subject == nil: // the verdict is of all pairs together
	case s.Verdict == verdict.Fail && len(s.Measurements) == 1:
		c.mark = '✗'
	case s.Verdict == verdict.Error:
		c.mark = '!'
	}
	if c.mark != 0 && c.mark != 'w' {
		g.Bad++
	}
}

// marks says in each cell without a figure why there is none.
func (b *gridBuilder) marks(s *report.Spec) {
	if s.Subject == nil || s.Subject.GPU != "" {
		return
	}
	grids := b.of[s.Check()]
	if len(grids) == 0 {
		return
	}
	row, ok := b.index[s.Subject.From]
	column, also := b.index[s.Subject.To]
	if !ok || !also {
		return
	}
	for _, g := range grids {
		c := &g.cells[row*len(g.Slots)+column]
		if c.has || s.Verdict == verdict.Pass {
			continue
		}
		c.text = symbol(s.Verdict)
		if s.Verdict == verdict.Fail || s.Verdict == verdict.Error {
			c.mark = '!'
		}
	}
}

func (g *grid) finish() {
	g.N = len(g.values)
	slices.Sort(g.values)
	if g.N > 0 {
		g.Lowest, g.Highest, g.Median = g.values[0], g.values[g.N-1], middle(g.values)
	}
	g.values = nil
	bars := make([]bar, 0, len(g.bars))
	for b := range g.bars {
		bars = append(bars, b)
	}
	slices.SortFunc(bars, func(a, b bar) int {
		return cmp.Or(cmp.Compare(b.theory, a.theory), cmp.Compare(a.class, b.class), cmp.Compare(a.floor, b.floor))
	})
	for i, b := range bars {
		if i == 8 {
			g.Bars = append(g.Bars, fmt.Sprintf("and %d more", len(bars)-i))
			break
		}
		g.Bars = append(g.Bars, b.String(g.bars[b]))
	}
}

func (b bar) String(n int) string {
	words := []string{}
	if b.floor > 0 {
		words = append(words, "floor "+report.Number(b.floor))
	}
	if b.theory > 0 {
		words = append(words, "theory "+report.Number(b.theory))
	}
	words = append(words, fmt.Sprintf("%d measured", n))
	return name(cmp.Or(b.class, "all")) + ": " + strings.Join(words, ", ")
}

// middle is the median of sorted values.
func middle(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// shown is a cell as the template writes it.
type shown struct{ Class, Text string }

// row is a row as the template writes it.
type row struct {
	Slot  string
	Cells []shown
}

// Rows are made when they are written: a rack has 5,000 cells a grid.
func (g *grid) Rows() iter.Seq[row] {
	n := len(g.Slots)
	return func(yield func(row) bool) {
		for i, slot := range g.Slots {
			r := row{Slot: slot, Cells: make([]shown, n)}
			if g.Narrow {
				r.Slot = strings.TrimPrefix(slot, "gpu")
			}
			for k := range n {
				r.Cells[k] = g.show(&g.cells[i*n+k], i == k)
			}
			if !yield(r) {
				return
			}
		}
	}
}

func (g *grid) show(c *cell, self bool) shown {
	switch {
	case !c.has && c.text == "" && self:
		return shown{"o", "·"}
	case !c.has && c.text == "":
		return shown{"o", ""}
	case !c.has && c.mark != 0:
		return shown{"e", c.text}
	case !c.has:
		return shown{"o", c.text}
	}
	text := report.Number(c.value)
	if g.Narrow {
		text = short(c.value)
	}
	if c.text != "" {
		text = c.text
	}
	switch c.mark {
	case '✗':
		return shown{"f", "✗" + text}
	case '!':
		return shown{"e", "!" + text}
	case 'w':
		return shown{"w", "w" + text}
	}
	return shown{g.level(c), text}
}

// level is the class of a cell's shade: h0 to h9, the share of theory, or the
// place between the lowest and the highest value.
func (g *grid) level(c *cell) string {
	share := c.share
	if !g.theory || math.IsNaN(share) {
		share = 0.5
		if spread := g.Highest - g.Lowest; spread > 0.02*math.Abs(g.Highest) {
			share = (c.value - g.Lowest) / spread
		}
	}
	return "h" + string(rune('0'+max(0, min(9, int(share*10)))))
}

// Shade says what darker means.
func (g *grid) Shade() string {
	if g.theory {
		return "darker: a larger part of theory"
	}
	return "darker: a higher value"
}

// classLine is a path class of the node.
type classLine struct {
	Class         string
	Pairs         int
	Theory, Floor float64
	Basis         string
}

// paths makes the matrix of path classes.
func (m *matrices) paths(t *topo.Matrix) {
	index := map[string]int{}
	g := &grid{Check: "paths", Narrow: m.Many, Ordered: true, bars: map[bar]int{}}
	for i, gpu := range t.GPUs {
		index[gpu.Slot] = i
		g.Slots = append(g.Slots, gpu.Slot)
	}
	g.cells = make([]cell, len(g.Slots)*len(g.Slots))
	lines := map[classLine]int{}
	most := 0
	for _, p := range t.Paths {
		most = max(most, p.Links)
	}
	for _, p := range t.Paths {
		c := &g.cells[index[p.From]*len(g.Slots)+index[p.To]]
		c.has, c.text, c.share = true, name(cmp.Or(p.Class, "?")), 0
		if most > 0 {
			c.share = float64(p.Links) / float64(most) * 0.7
		}
		g.theory = true
		lines[classLine{Class: c.text, Theory: p.Theoretical, Floor: p.Floor, Basis: p.Basis}]++
	}
	m.Paths = g
	for l, n := range lines {
		l.Pairs = n
		m.Classes = append(m.Classes, l)
	}
	slices.SortFunc(m.Classes, func(a, b classLine) int {
		return cmp.Or(cmp.Compare(b.Theory, a.Theory), cmp.Compare(a.Class, b.Class), cmp.Compare(b.Pairs, a.Pairs))
	})
}
