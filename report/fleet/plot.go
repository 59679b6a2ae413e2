package fleet

import (
	"fmt"

	"github.com/peerproof/peerproof/internal/words"
)

// The size of a plot in the units of its view box.
const (
	plotWidth  = 480
	plotHeight = 90
	plotBase   = 80 // where bars stand
)

// plot is one figure's distribution over the servers, ready to be drawn.
type plot struct {
	*Figure
	Width, Height, Base int
	Label               string
	Bars                []bar
	Middle              float64 // where the median is
	Marks               []mark
	Parts               []Outlier // GPUs and pairs, which have no place on the axis
	MorePart            int
}

type bar struct{ X, Y, W, H float64 }

type mark struct {
	X float64
	Outlier
}

// maxListed is how many outliers a plot lists below it.
const maxListed = 4

func plotOf(f *Figure, all []Outlier) plot {
	p := plot{Figure: f, Width: plotWidth, Height: plotHeight, Base: plotBase}
	p.Label = fmt.Sprintf("Distribution of %s over %s: from %g to %g %s, median %g",
		f.Check, words.Count(f.Servers, "server", "servers"), f.Least, f.Most, f.Unit, f.Median)
	most := 1
	for _, n := range f.Bins {
		most = max(most, n)
	}
	step := float64(plotWidth) / float64(len(f.Bins))
	for i, n := range f.Bins {
		if n == 0 {
			continue
		}
		// One server among a thousand must still be seen.
		h := max(3, float64(n)/float64(most)*(plotBase-18))
		p.Bars = append(p.Bars, bar{X: float64(i)*step + 0.5, Y: plotBase - h, W: step - 1, H: h})
	}
	p.Middle = f.at(f.Median)
	for i := range all {
		o := all[i]
		if o.Check != f.Check || o.Name != f.Name || o.Unit != f.Unit || o.Path != f.Path || o.Kind != f.Kind {
			continue
		}
		switch {
		case o.Level == levelServer:
			p.Marks = append(p.Marks, mark{X: f.at(o.Value), Outlier: o})
		case len(p.Parts) < maxListed:
			p.Parts = append(p.Parts, o)
		default:
			p.MorePart++
		}
	}
	return p
}

// at is where a value stands on the axis.
func (f *Figure) at(v float64) float64 {
	if f.Most <= f.Least {
		return plotWidth / 2
	}
	return min(plotWidth-6, max(6, plotWidth*(v-f.Least)/(f.Most-f.Least)))
}
