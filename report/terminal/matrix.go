package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/internal/words"
	"github.com/peerproof/peerproof/report"
)

// matrixChecks are those whose figures make a matrix; the first that measured
// anything is shown.
var matrixChecks = []string{"bandwidth/write-ce", "bandwidth/read-ce", "bandwidth/write-sm", "bandwidth/read-sm"}

// maxMatrix is the number of GPUs up to which every pair is shown.
const maxMatrix = 8

// paired is what one check measured of every ordered pair.
type paired struct {
	check string
	slots []string // in the order of the plan
	cells map[[2]string]cell
}

// cell is the figure of one pair. bad is one that did not pass.
type cell struct {
	value float64
	class string // of its path
	bad   bool
}

// measured collects the figures of the first check of matrixChecks that has any.
func measured(specs []report.Spec) (paired, bool) {
	for _, check := range matrixChecks {
		p := paired{check: check, cells: map[[2]string]cell{}}
		for i := range specs {
			s := &specs[i]
			if s.Check() != check || s.Subject == nil || s.Subject.GPU != "" {
				continue
			}
			for _, slot := range []string{s.Subject.From, s.Subject.To} {
				if !slices.Contains(p.slots, slot) {
					p.slots = append(p.slots, slot)
				}
			}
			if m := s.Figure(); m != nil && m.Unit == "GB/s" {
				p.cells[[2]string{s.Subject.From, s.Subject.To}] = cell{m.Value, s.Path, s.Verdict != verdict.Pass}
			}
		}
		if len(p.cells) > 0 {
			return p, true
		}
	}
	return paired{}, false
}

// matrix writes what was measured between the GPUs: every pair, or the
// extremes of each class of paths where there are many GPUs or few columns.
func (s *summary) matrix(specs []report.Spec) {
	p, ok := measured(specs)
	if !ok || s.o.Level == Quiet {
		return
	}
	if lines, fits := p.table(s.o); fits {
		s.out.WriteString(wrap("", 2, s.o.width(), p.check+", GB/s one way from row to column; ! did not pass, - not measured"))
		s.out.WriteString(lines)
		return
	}
	s.out.WriteString(wrap("", 2, s.o.width(), p.check+", GB/s one way"))
	for _, line := range p.extremes() {
		s.out.WriteString(wrap("  ", 4, s.o.width(), line))
	}
}

// table is a row and a column for each GPU. It does not fit where there are
// too many, or where lines would be too wide.
func (p paired) table(o Options) (text string, fits bool) {
	if len(p.slots) > maxMatrix {
		return "", false
	}
	var b strings.Builder
	label, column := 0, 7 // as in " 741.2!"
	for _, slot := range p.slots {
		label = max(label, len([]rune(report.Line(slot))))
	}
	column = max(column, label+2)
	for _, c := range p.cells {
		column = max(column, len(fmt.Sprintf("%.1f", c.value))+2)
	}
	if label+column*len(p.slots) > o.width() {
		return "", false
	}
	b.WriteString(strings.Repeat(" ", label))
	for _, to := range p.slots {
		fmt.Fprintf(&b, "%*s ", column-1, report.Line(to))
	}
	lines := []string{strings.TrimRight(b.String(), " ")}
	for _, from := range p.slots {
		b.Reset()
		fmt.Fprintf(&b, "%-*s", label, report.Line(from))
		for _, to := range p.slots {
			c, known := p.cells[[2]string{from, to}]
			switch {
			case known && c.bad:
				b.WriteString(o.paint(red, fmt.Sprintf("%*.1f!", column-1, c.value)))
			case known:
				fmt.Fprintf(&b, "%*.1f ", column-1, c.value)
			case from == to:
				fmt.Fprintf(&b, "%*s ", column-1, "X")
			default:
				fmt.Fprintf(&b, "%*s ", column-1, "-")
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return strings.Join(lines, "\n") + "\n", true
}

// extremes is a line for each class of paths: how many pairs, their median,
// the lowest and the highest figure and whose they are.
func (p paired) extremes() []string {
	type figure struct {
		pair string
		cell
	}
	classes := map[string][]figure{}
	var order []string
	for _, from := range p.slots {
		for _, to := range p.slots {
			c, known := p.cells[[2]string{from, to}]
			if !known {
				continue
			}
			if len(classes[c.class]) == 0 {
				order = append(order, c.class)
			}
			classes[c.class] = append(classes[c.class], figure{from + "->" + to, c})
		}
	}
	var lines []string
	for _, class := range order {
		all := classes[class]
		bad := 0
		for _, f := range all {
			if f.bad {
				bad++
			}
		}
		slices.SortStableFunc(all, func(a, b figure) int { return cmp.Compare(a.value, b.value) })
		lowest, highest := all[0], all[len(all)-1]
		middle := (all[(len(all)-1)/2].value + all[len(all)/2].value) / 2
		text := fmt.Sprintf("%s: %s, median %.1f, lowest %.1f (%s), highest %.1f (%s)", report.Line(cmp.Or(class, "unknown path")),
			words.Count(len(all), "pair", "pairs"), middle, lowest.value, report.Line(lowest.pair), highest.value, report.Line(highest.pair))
		if bad > 0 {
			text += fmt.Sprintf("; %d did not pass", bad)
		}
		lines = append(lines, text)
	}
	return lines
}
