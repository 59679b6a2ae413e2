package diff

import (
	"math"
	"slices"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

// Figure is a measurement that moved beyond its noise.
type Figure struct {
	ID     string  `json:"id"`
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Before float64 `json:"before"` // medians
	After  float64 `json:"after"`
	// Moved is the change in percent of the earlier figure; Noise is how much
	// of it, in the same percent, would say nothing.
	Moved float64 `json:"moved_percent"`
	Noise float64 `json:"noise_percent"`
	Worse bool    `json:"worse"` // a lower rate, a longer time
}

// A figure has moved where the medians differ by more than spreads times the
// pooled standard deviation of both runs' samples, and by more than a share of
// the earlier median. Between two runs more differs than the samples of one
// show (where a buffer lies, how warm the server is), so the share is what a
// healthy server keeps to: 5 % is the tolerance that equal NVLinks have among
// each other, and less than one of 18 links. Times jitter more.
const (
	spreads    = 3
	rateShare  = 0.05
	timeShare  = 0.10
	fewSamples = 3 // with fewer, the spread says nothing
)

// units are those of figures that are better or worse: 1 where more is better,
// -1 where less is. Counts, temperatures and settings are not compared: their
// own specs judge them.
var units = map[string]int{"GB/s": 1, "TFLOPS": 1, "ns": -1, "us": -1, "µs": -1, "ms": -1, "s": -1}

// figures compares the figures of a spec by name and unit; the first of each
// name counts.
func (d *Diff) figures(was, now *report.Spec) {
	for i := range now.Measurements {
		m := &now.Measurements[i]
		at := slices.IndexFunc(was.Measurements, func(o verdict.Measurement) bool { return o.Name == m.Name && o.Unit == m.Unit })
		first := slices.IndexFunc(now.Measurements, func(o verdict.Measurement) bool { return o.Name == m.Name && o.Unit == m.Unit })
		if at < 0 || first != i {
			continue
		}
		f, comparable := compare(&was.Measurements[at], m)
		if !comparable {
			continue
		}
		d.Compared++
		if math.Abs(f.Moved) > f.Noise {
			f.ID = now.ID
			d.Figures = append(d.Figures, f)
		}
	}
}

// compare holds two figures against each other. Those of another kind, without
// enough samples, or that are zero are not comparable.
func compare(was, now *verdict.Measurement) (f Figure, comparable bool) {
	better := units[now.Unit]
	usable := func(m *verdict.Measurement) bool {
		return len(m.Samples) >= fewSamples && m.Value > 0 && !math.IsInf(m.Value, 0)
	}
	if better == 0 || !usable(was) || !usable(now) {
		return f, false
	}
	share := rateShare
	if better < 0 {
		share = timeShare
	}
	change := now.Value - was.Value
	noise := max(spreads*pooled(was.Samples, now.Samples), share*was.Value)
	return Figure{
		Name: now.Name, Unit: now.Unit, Before: was.Value, After: now.Value,
		Moved: 100 * change / was.Value, Noise: 100 * noise / was.Value,
		Worse: change*float64(better) < 0,
	}, true
}

// pooled is the standard deviation of two sets of samples about their own
// means, together.
func pooled(a, b []float64) float64 {
	sum := squares(a) + squares(b)
	return math.Sqrt(sum / float64(len(a)+len(b)-2))
}

// squares is the sum of squared distances from the mean.
func squares(samples []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, v := range samples {
		mean += v / float64(len(samples))
	}
	for _, v := range samples {
		sum += (v - mean) * (v - mean)
	}
	return sum
}

// sortFigures puts what got worse first, by how much it moved.
func sortFigures(all []Figure) {
	slices.SortStableFunc(all, func(a, b Figure) int {
		if a.Worse != b.Worse {
			if a.Worse {
				return -1
			}
			return 1
		}
		switch x, y := math.Abs(a.Moved), math.Abs(b.Moved); {
		case x > y:
			return -1
		case x < y:
			return 1
		default:
			return 0
		}
	})
}
