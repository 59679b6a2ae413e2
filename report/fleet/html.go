package fleet

import (
	"cmp"
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/peerproof/peerproof/internal/words"
	"github.com/peerproof/peerproof/report"
)

//go:embed fleet.gohtml
var pageText string

//go:embed fleet.css
var style string

// minPlotted is of how many servers a distribution says anything.
const minPlotted = 3

// maxChecks is how many checks of one part the page names; fleet.json has all.
const maxChecks = 8

// maxParts is how many parts of one code the page shows; fleet.json has all.
const maxParts = 100

var page = template.Must(template.New("fleet").Funcs(template.FuncMap{
	"line":    report.Line,
	"number":  report.Number,
	"span":    span,
	"percent": func(v float64) string { return fmt.Sprintf("%.1f %%", v) },
	"time":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"upper":   func(v any) string { return strings.ToUpper(report.Line(fmt.Sprint(v))) },
	"count":   words.Count,
	"join":    func(list []string) string { return report.Line(strings.Join(list, ", ")) },
	"checks": func(list []string) string {
		if more := len(list) - maxChecks; more > 0 {
			list = append(slices.Clone(list[:maxChecks]), fmt.Sprintf("and %d more", more))
		}
		return report.Line(strings.Join(list, ", "))
	},
	"first":  func(list []Part) []Part { return list[:min(len(list), maxParts)] },
	"beyond": func(list []Part) int { return max(0, len(list)-maxParts) },
}).Parse(pageText))

// view is what the page shows.
type view struct {
	*Report
	CSS    template.CSS
	Title  string
	Marks  []string
	Mixed  bool
	Groups []groupView
}

type groupView struct {
	*Group
	ID      string // for links within the page
	Name    string
	Outlier []placeView
	Bad     []Server // failed, erred, outliers, skipped
	Good    []Server
	Plots   []plot
	Few     []Kind
	Warned  []Server
}

// placeView is one outlier with all of its figures, the clearest first.
type placeView struct {
	Place
	Figures []Outlier
}

// WriteHTML writes the report as one page that needs nothing else: no network,
// no script.
func WriteHTML(w io.Writer, r *Report) error {
	v := view{Report: r, CSS: template.CSS(style)}
	servers := 0
	var sorts []string
	for i := range r.Groups {
		g := &r.Groups[i]
		servers += len(g.Servers)
		if g.Marks != "" {
			v.Marks = append(v.Marks, g.Marks)
		}
		sorts = append(sorts, strconv.Itoa(len(g.Servers))+" "+cmp.Or(g.Marks, "real"))
		v.Groups = append(v.Groups, viewOf(g, i))
	}
	v.Title = "Fleet of " + words.Count(servers, "server", "servers")
	switch {
	case len(r.Groups) > 1:
		v.Mixed = true
		v.Title = "MIXED fleet of " + words.Count(servers, "server", "servers") + ": " + strings.Join(sorts, ", ")
	case len(v.Marks) == 1:
		v.Title = v.Marks[0] + " fleet of " + words.Count(servers, "server", "servers")
	}
	return page.Execute(w, &v)
}

func viewOf(g *Group, number int) groupView {
	v := groupView{Group: g, ID: "g" + strconv.Itoa(number), Name: g.Marks}
	if v.Name == "" {
		v.Name = "Real GPUs"
	}
	for i := range g.Outliers {
		o := &g.Outliers[i]
		at := slices.IndexFunc(v.Outlier, func(p placeView) bool { return p.Dir == o.Dir && p.Subject == o.Subject })
		if at < 0 {
			at = len(v.Outlier)
			v.Outlier = append(v.Outlier, placeView{Place: o.Place})
		}
		v.Outlier[at].Figures = append(v.Outlier[at].Figures, *o)
	}
	for i := range g.Servers {
		if s := g.Servers[i]; severity(&s) < good {
			v.Bad = append(v.Bad, s)
		} else {
			v.Good = append(v.Good, s)
		}
		if len(g.Servers[i].Warnings) > 0 {
			v.Warned = append(v.Warned, g.Servers[i])
		}
	}
	for i := range g.Kinds {
		if !g.Kinds[i].Compared {
			v.Few = append(v.Few, g.Kinds[i])
		}
	}
	for i := range g.Figures {
		if g.Figures[i].Servers < minPlotted {
			continue
		}
		v.Plots = append(v.Plots, plotOf(&g.Figures[i], g.Outliers))
	}
	return v
}

// Name says which part a place is, with what it is known by.
func (p *Place) Name() string {
	if p.Subject == "" {
		return "the server"
	}
	text := p.Subject
	for i := range p.GPUs {
		g := &p.GPUs[i]
		switch {
		case known(g.Serial) != "":
			text += ", serial " + g.Serial
		case g.UUID != "":
			text += ", " + g.UUID
		}
	}
	return report.Line(text)
}

// span is a duration in seconds, in words for people.
func span(seconds float64) string {
	if seconds < 0 {
		return "in the future" // the clocks of two servers
	}
	for _, unit := range []struct {
		name string
		size float64
	}{{"d", 86400}, {"h", 3600}, {"min", 60}} {
		if seconds >= 2*unit.size {
			return fmt.Sprintf("%.0f %s", seconds/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.0f s", seconds)
}
