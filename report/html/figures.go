package html

import (
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

// gpuTable is the figures that belong to one GPU each.
type gpuTable struct {
	Slots []string
	Rows  []gpuRow
}

type gpuRow struct {
	Check, Name, Unit string
	Floor, Theory     float64 // of the first that has them
	Cells             []shown
}

func newGPUTable(r *report.Results, slots []string) *gpuTable {
	t := &gpuTable{Slots: slots}
	index := map[string]int{}
	for i, slot := range slots {
		index[slot] = i
	}
	rows := map[[2]string]int{}
	const most = 400 // rows: a suite may name figures as it likes
	for i := range r.Specs {
		s := &r.Specs[i]
		if s.Subject == nil || s.Subject.GPU == "" {
			continue
		}
		column, ok := index[s.Subject.GPU]
		if !ok {
			continue
		}
		for k := range s.Measurements {
			m := &s.Measurements[k]
			key := [2]string{s.Check(), m.Name}
			at, known := rows[key]
			if !known {
				if len(t.Rows) == most {
					continue
				}
				at = len(t.Rows)
				rows[key] = at
				t.Rows = append(t.Rows, gpuRow{Check: s.Check(), Name: m.Name, Unit: m.Unit, Cells: make([]shown, len(slots))})
			}
			row := &t.Rows[at]
			if row.Floor == 0 {
				row.Floor, row.Theory = m.Floor, m.Theoretical
			}
			row.Cells[column] = figureCell(s, m)
		}
	}
	return t
}

func figureCell(s *report.Spec, m *verdict.Measurement) shown {
	text := report.Number(m.Value)
	switch {
	case s.Verdict == verdict.Fail && (len(s.Measurements) == 1 || m.Floor > 0 && m.Value < m.Floor):
		return shown{"f", "✗" + text}
	case s.Verdict == verdict.Waived && m.Floor > 0 && m.Value < m.Floor:
		return shown{"w", "w" + text}
	default:
		return shown{"h0", text}
	}
}

// nodeFigure is a figure of the whole node.
type nodeFigure struct {
	Spec *report.Spec
	*verdict.Measurement
}

func nodeFigures(r *report.Results) []nodeFigure {
	const most = 400
	var all []nodeFigure
	for i := range r.Specs {
		s := &r.Specs[i]
		if s.Subject != nil {
			continue
		}
		for k := range s.Measurements {
			m := &s.Measurements[k]
			if len(all) < most && !cellForm.MatchString(m.Name) {
				all = append(all, nodeFigure{s, m})
			}
		}
	}
	return all
}
