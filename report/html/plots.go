package html

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

// plots are the drawings of figures.
type plots struct {
	Spreads, Curves, Series []*plot
}

// plot is one drawing, in a coordinate system of plotWidth by plotHeight.
type plot struct {
	Title, Unit, Label string // Label says in words what the drawing shows
	Note               string
	Y                  []tick // of the vertical axis
	X                  []tick
	Rules              []tick // floors
	Lines              []line
	Legend             []legend
	low, high          float64
}

type tick struct {
	At   float64
	Text string
}

// line is a path of SVG; Class says how it is drawn.
type line struct{ Class, Path string }

type legend struct {
	Class, Text string
}

// The size of a plot, and of what is kept free for the axes.
const (
	plotWidth, plotHeight = 420.0, 170.0
	plotLeft, plotRight   = 48.0, 8.0
	plotTop, plotBottom   = 8.0, 20.0
)

// Width and Height are the drawing's, for the template.
func (*plot) Width() float64  { return plotWidth }
func (*plot) Height() float64 { return plotHeight }
func (*plot) Left() float64   { return plotLeft }
func (*plot) Right() float64  { return plotWidth - plotRight }
func (*plot) Floor() float64  { return plotHeight - plotBottom }
func (*plot) Top() float64    { return plotTop }

// scale makes room for the values between low and high, with ticks.
func (p *plot) scale(low, high float64) {
	margin := (high - low) * 0.08
	if margin <= 0 {
		margin = max(math.Abs(high)*0.05, 1e-9)
	}
	p.low, p.high = low-margin, high+margin
	if low >= 0 {
		p.low = max(0, p.low)
	}
	step := niceStep((p.high - p.low) / 4)
	for v := math.Ceil(p.low/step) * step; v <= p.high && len(p.Y) < 12; v += step {
		p.Y = append(p.Y, tick{p.y(v), report.Number(math.Round(v/step) * step)})
	}
}

// niceStep is 1, 2 or 5 times a power of ten, at least the given step.
func niceStep(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, by := range []float64{1, 2, 5, 10} {
		if by*power >= step*0.999 {
			return by * power
		}
	}
	return step
}

// y is a value's height, rounded to a tenth.
func (p *plot) y(v float64) float64 {
	return tenth(plotTop + (p.high-v)/(p.high-p.low)*(plotHeight-plotTop-plotBottom))
}

// x is a place between 0 and 1.
func (p *plot) x(share float64) float64 {
	return tenth(plotLeft + share*(plotWidth-plotLeft-plotRight))
}

func tenth(v float64) float64 { return math.Round(v*10) / 10 }

func coordinate(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// spread is the samples of one spec, or of several of one GPU.
type spread struct {
	name         string
	low, mid, hi float64
	bad          bool
}

// sampled is what was sampled more than once by one check under one name.
type sampled struct {
	check, name, unit string
	floor             float64 // the highest; 0 none
	points            []spread
	series            []series
	curves            map[string]*curve // by path class
}

// series is the samples of one GPU over time.
type series struct {
	slot   string
	values []float64
	bad    bool
}

// A series over time has at least so many samples; a figure has five.
const manySamples = 8

func newPlots(r *report.Results, m *matrices) plots {
	known := map[[2]string]*sampled{}
	var order []*sampled
	of := func(s *report.Spec, title, unit string) *sampled {
		key := [2]string{s.Check(), title}
		if known[key] == nil {
			const most = 120
			if len(order) == most {
				return &sampled{curves: map[string]*curve{}}
			}
			known[key] = &sampled{check: s.Check(), name: title, unit: unit, curves: map[string]*curve{}}
			order = append(order, known[key])
		}
		return known[key]
	}
	for i := range r.Specs {
		s := &r.Specs[i]
		for k := range s.Measurements {
			figure := &s.Measurements[k]
			if len(figure.Samples) < 2 && !sizeForm.MatchString(figure.Name) {
				continue
			}
			bad := s.Verdict == verdict.Fail || s.Verdict == verdict.Error
			switch found := sizeForm.FindStringSubmatch(figure.Name); {
			case found != nil:
				of(s, found[1], figure.Unit).point(s.Path, found[2], found[3], figure)
			case s.Subject != nil && s.Subject.GPU != "" && len(figure.Samples) >= manySamples:
				one := of(s, figure.Name, figure.Unit)
				one.series = append(one.series, series{s.Subject.GPU, figure.Samples, bad})
			case s.Subject == nil:
				cellOf := cellForm.FindStringSubmatch(figure.Name)
				if cellOf == nil {
					of(s, figure.Name, figure.Unit).add(figure.Name, figure, bad, false)
					continue
				}
				low := figure.Floor > 0 && figure.Value < figure.Floor
				of(s, cellOf[1], figure.Unit).add(cellOf[2]+cellOf[3]+cellOf[4], figure, low, m.Many)
			default:
				title := figure.Name
				if s.Path != "" { // classes differ too much for one axis
					title += " over " + s.Path
				}
				of(s, title, figure.Unit).add(subject(s), figure, bad, m.Many)
			}
		}
	}
	var all plots
	for _, one := range order {
		if len(one.points) > 0 {
			all.Spreads = append(all.Spreads, one.spreads())
		}
		if len(one.curves) > 0 {
			all.Curves = append(all.Curves, one.curved())
		}
		if len(one.series) > 0 {
			all.Series = append(all.Series, one.overTime())
		}
	}
	return all
}

// add takes the samples of one figure. Where GPUs are many, those of one
// source GPU are one point.
func (one *sampled) add(subject string, m *verdict.Measurement, bad, many bool) {
	p := spread{name: subject, low: slices.Min(m.Samples), hi: slices.Max(m.Samples), mid: m.Value, bad: bad}
	one.floor = max(one.floor, m.Floor)
	if many {
		p.name, _, _ = strings.Cut(subject, "-")
		if n := len(one.points); n > 0 && one.points[n-1].name == p.name {
			last := &one.points[n-1]
			last.low, last.hi, last.bad = min(last.low, p.low), max(last.hi, p.hi), last.bad || bad
			last.mid = min(last.mid, p.mid)
			return
		}
	}
	one.points = append(one.points, p)
}

// spreads draws a bar from the lowest to the highest sample of each spec, with
// a dot at the median, and a cross where the spec failed.
func (one *sampled) spreads() *plot {
	p := &plot{Title: one.check, Unit: one.unit, Note: one.name}
	low, high := math.Inf(1), math.Inf(-1)
	bad := 0
	widest := 0.0
	for _, s := range one.points {
		low, high = min(low, s.low), max(high, s.hi)
		if s.bad {
			bad++
		}
		if s.mid != 0 {
			widest = max(widest, (s.hi-s.low)/math.Abs(s.mid))
		}
	}
	near := one.floor > 0 && one.floor > low-(high-low)
	if near {
		low, high = min(low, one.floor), max(high, one.floor)
	}
	p.scale(low, high)
	if near {
		p.Rules = append(p.Rules, tick{p.y(one.floor), "floor " + report.Number(one.floor)})
	}
	var bars, dots, crosses, badBars strings.Builder
	n := float64(len(one.points))
	for i, s := range one.points {
		x := coordinate(p.x((float64(i) + 0.5) / n))
		at := "M" + x + " "
		stroke := at + coordinate(p.y(s.low)) + "V" + coordinate(p.y(s.hi))
		if s.bad {
			badBars.WriteString(stroke)
			crosses.WriteString(at + coordinate(p.y(s.mid)) + "m-3-3l6 6m0-6l-6 6")
			continue
		}
		bars.WriteString(stroke)
		dots.WriteString(at + coordinate(p.y(s.mid)) + "h0")
	}
	p.Lines = []line{{"range", bars.String()}, {"range bad", badBars.String()}, {"dot", dots.String()}, {"cross", crosses.String()}}
	p.X = []tick{{p.x(0), one.points[0].name}, {p.x(1), one.points[len(one.points)-1].name}}
	p.Label = fmt.Sprintf("%s, %s: %d with samples from %s to %s %s, the widest spread of one is %s %% of its median; %d failed",
		one.check, one.name, len(one.points), report.Number(low), report.Number(high), one.unit, report.Number(100*widest), bad)
	return p
}

// overTime draws the samples of each GPU from the first to the last.
func (one *sampled) overTime() *plot {
	p := &plot{Title: one.check, Unit: one.unit, Note: one.name}
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range one.series {
		low, high = min(low, slices.Min(s.values)), max(high, slices.Max(s.values))
	}
	p.scale(low, high)
	most := 300
	if len(one.series) > manyGPUs {
		most = 60
	}
	highest, lowest := one.series[0], one.series[0]
	for _, s := range one.series {
		if slices.Max(s.values) > slices.Max(highest.values) {
			highest = s
		}
		if slices.Min(s.values) < slices.Min(lowest.values) {
			lowest = s
		}
		class := "series"
		if s.bad {
			class = "series bad"
			p.Legend = append(p.Legend, legend{"bad", "✗ " + s.slot})
		}
		p.Lines = append(p.Lines, line{class, p.path(s.values, most)})
	}
	p.X = []tick{{p.x(0), "start"}, {p.x(1), "end"}}
	p.Label = fmt.Sprintf("%s, %s over time, %d GPUs: highest %s %s on %s, lowest %s on %s", one.check, one.name, len(one.series),
		report.Number(slices.Max(highest.values)), one.unit, highest.slot, report.Number(slices.Min(lowest.values)), lowest.slot)
	return p
}

// path draws at most so many of the values.
func (p *plot) path(values []float64, most int) string {
	var b strings.Builder
	step := max(1, (len(values)+most-1)/most)
	for i := 0; i < len(values); i += step {
		b.WriteString(map[bool]string{true: "M", false: "L"}[i == 0])
		b.WriteString(coordinate(p.x(float64(i)/float64(max(1, len(values)-1)))) + " " + coordinate(p.y(values[i])))
	}
	return b.String()
}

// curve is figures by size, of all pairs of one path class.
type curve struct{ bySize map[float64][]float64 }

func (one *sampled) point(class, count, unit string, m *verdict.Measurement) {
	size, err := strconv.ParseFloat(count, 64)
	if err != nil || size <= 0 {
		return
	}
	size *= map[string]float64{"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]
	c := one.curves[class]
	if c == nil {
		c = &curve{bySize: map[float64][]float64{}}
		one.curves[class] = c
	}
	c.bySize[size] = append(c.bySize[size], m.Value)
}

// curved draws for each class the median over the size, in a band from the
// slowest to the fastest pair.
func (one *sampled) curved() *plot {
	p := &plot{Title: one.check, Unit: one.unit, Note: one.name + " by size"}
	smallest, largest, high := math.Inf(1), 0.0, 0.0
	var classes []string
	for class, c := range one.curves {
		classes = append(classes, class)
		for size, values := range c.bySize {
			smallest, largest = min(smallest, size), max(largest, size)
			high = max(high, slices.Max(values))
		}
	}
	slices.SortFunc(classes, func(a, b string) int { return cmp.Compare(a, b) })
	p.scale(0, high)
	along := func(size float64) string {
		if largest <= smallest {
			return coordinate(p.x(0.5))
		}
		return coordinate(p.x(math.Log2(size/smallest) / math.Log2(largest/smallest)))
	}
	var words []string
	for i, class := range classes {
		c := one.curves[class]
		var sizes []float64
		for size := range c.bySize {
			sizes = append(sizes, size)
			slices.Sort(c.bySize[size])
		}
		slices.Sort(sizes)
		var mid, up, down string
		for k, size := range sizes {
			values, x := c.bySize[size], along(size)
			mid += map[bool]string{true: "M", false: "L"}[k == 0] + x + " " + coordinate(p.y(middle(values)))
			up += map[bool]string{true: "M", false: "L"}[k == 0] + x + " " + coordinate(p.y(values[len(values)-1]))
			down = "L" + x + " " + coordinate(p.y(values[0])) + down
		}
		style := "dash" + strconv.Itoa(i%4)
		p.Lines = append(p.Lines, line{"band", up + down + "Z"}, line{"curve " + style, mid})
		label := cmp.Or(class, "all")
		p.Legend = append(p.Legend, legend{style, label})
		last := c.bySize[sizes[len(sizes)-1]]
		words = append(words, fmt.Sprintf("%s %s to %s at the largest", label, report.Number(last[0]), report.Number(last[len(last)-1])))
	}
	p.X = []tick{{p.x(0), sizeText(smallest)}, {p.x(1), sizeText(largest)}}
	p.Label = fmt.Sprintf("%s, %s in %s from %s to %s: %s", one.check, one.name, one.unit, sizeText(smallest), sizeText(largest), strings.Join(words, "; "))
	return p
}

func sizeText(bytes float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if bytes >= u.size {
			return report.Number(bytes/u.size) + " " + u.name
		}
	}
	return report.Number(bytes) + " bytes"
}
