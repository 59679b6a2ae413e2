package prometheus

import (
	"cmp"
	"slices"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

// quantity is what a unit measures, and its value in Prometheus' base unit.
type quantity struct {
	kind  string // "bandwidth" or "latency"
	scale float64
}

// quantities are the units of figures that become metrics. Others (counts,
// generations, percentages) say little over time and stay in results.json.
var quantities = map[string]quantity{
	"GB/s": {"bandwidth", 1e9},
	"s":    {"latency", 1},
	"ms":   {"latency", 1e-3},
	"us":   {"latency", 1e-6},
	"ns":   {"latency", 1e-9},
}

// figure is one measurement of a spec.
type figure struct {
	spec    *report.Spec
	measure *verdict.Measurement
	scale   float64
}

// labels of a figure are unique: a spec measures a name once.
func (f *figure) labels() []label {
	return append(where(f.spec), label{"measurement", f.measure.Name})
}

// share is how much of its floor a figure reaches, or of its theory.
func (f *figure) share() float64 {
	switch m := f.measure; {
	case m.Floor > 0:
		return m.Value / m.Floor
	case m.Theoretical > 0:
		return 1 + m.Value/m.Theoretical
	default:
		return 2
	}
}

func (d *document) figures(specs []report.Spec) {
	bandwidth, latency := collect(specs, "bandwidth"), collect(specs, "latency")
	for _, f := range []struct {
		name, help string
		of         []figure
		value      func(*verdict.Measurement) float64
	}{
		{"peerproof_bandwidth_bytes_per_second", "Measured bandwidth, the median of its samples.", bandwidth, func(m *verdict.Measurement) float64 { return m.Value }},
		{"peerproof_bandwidth_floor_bytes_per_second", "The bandwidth below which a spec fails.", bandwidth, func(m *verdict.Measurement) float64 { return m.Floor }},
		{"peerproof_bandwidth_theoretical_bytes_per_second", "The bandwidth that the path has in theory.", bandwidth, func(m *verdict.Measurement) float64 { return m.Theoretical }},
		{"peerproof_latency_seconds", "Measured latency, the median of its samples.", latency, func(m *verdict.Measurement) float64 { return m.Value }},
	} {
		d.family(f.name, f.help)
		for i := range f.of {
			value := f.value(f.of[i].measure)
			switch {
			case i >= maxSeries:
				d.omitted[f.name]++
			case value != 0 || f.name == "peerproof_bandwidth_bytes_per_second":
				d.sample(f.name, value*f.of[i].scale, f.of[i].labels()...)
			}
		}
	}
}

// collect are the figures of a kind, in the order of the plan. Where there are
// too many, those that are nearest to their floor, or below it, come first.
func collect(specs []report.Spec, kind string) []figure {
	var all []figure
	for i := range specs {
		s := &specs[i]
		seen := map[string]bool{}
		for j := range s.Measurements {
			m := &s.Measurements[j]
			name := report.Cut(report.Line(m.Name), maxValue, "…")
			if q, known := quantities[m.Unit]; known && q.kind == kind && !seen[name] {
				seen[name] = true
				all = append(all, figure{s, m, q.scale})
			}
		}
	}
	if len(all) > maxSeries {
		slices.SortStableFunc(all, func(a, b figure) int { return cmp.Compare(a.share(), b.share()) })
	}
	return all
}
