package terminal

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/internal/words"
	"github.com/peerproof/peerproof/report"
)

// maxNamed is how many others of a group are named.
const maxNamed = 12

// maxCauses is how many causes of what was not tested are told.
const maxCauses = 12

// Summary writes how a run ended: each failure with code, number, path and
// hint, of those alike the first; what was skipped and why; what the options
// ask for besides; the bandwidths measured; the counts; and where the reports
// lie.
func Summary(w io.Writer, r *report.Results, files []string, o Options) error {
	var out strings.Builder
	s := summary{out: &out, o: o, busIDs: map[string]string{}}
	for i := range r.GPUs {
		s.busIDs[r.GPUs[i].Slot] = r.GPUs[i].BusID
	}
	marks := r.Run.Marks()
	out.WriteString(o.banner(strings.TrimSpace(marks + " summary")))
	groups := group(r.Specs)
	for _, v := range []verdict.Verdict{verdict.Fail, verdict.Error} {
		for _, g := range groups {
			if g.first.Verdict == v && !report.Follows(g.first.Code) {
				s.group(g)
			}
		}
	}
	// What follows from another failure comes after it, with one line a cause.
	s.briefly(groups, verdict.Error, true)
	for _, v := range []verdict.Verdict{verdict.Waived, verdict.Skip} {
		s.briefly(groups, v, false)
	}
	s.listing(r.Specs)
	s.durations(r.Specs)
	s.matrix(r.Specs)
	s.causes(r)
	for _, warning := range r.Warnings {
		out.WriteString(o.paint(red, "WARNING:") + wrap("         ", 9, o.width(), warning)[8:])
	}
	if len(files) > 0 {
		out.WriteString(wrap("reports: ", 9, o.width(), strings.Join(files, "  ")))
	}
	took := r.Run.Took()
	total := fmt.Sprintf("%s in %.1f s: ", words.Count(r.Counts.Total(), "spec", "specs"), took.Seconds())
	out.WriteString(wrap("", 2, o.width(), total+countsText(r.Counts)+fmt.Sprintf("; exit %d", r.Exit)))
	last := cmp.Or(r.Caveat(), strings.ToUpper(string(r.Verdict)))
	if partial := r.Partial(); partial != "" {
		out.WriteString(wrap("", 2, o.width(), partial))
		last += ", PARTIAL"
	}
	if marks != "" {
		last += ", " + marks + ": " + whatItMeans(&r.Run)
	}
	out.WriteString(o.banner(last))
	_, err := io.WriteString(w, out.String())
	return err
}

// maxFindings is how many probable causes are told.
const maxFindings = 4

// causes names the probable causes of what failed and erred, the one that
// explains most first, with what to do. A single spec has said so itself.
func (s *summary) causes(r *report.Results) {
	if r.Counts.Fail+r.Counts.Error < 2 {
		return
	}
	all := report.Findings(r)
	if len(all) == 0 {
		return
	}
	s.out.WriteString("what to do first\n")
	for i, f := range all[:min(len(all), maxFindings)] {
		number := fmt.Sprintf("%d  ", i+1)
		s.out.WriteString(wrap(number, 3, s.o.width(), fmt.Sprintf("%s (%s)", report.Line(f.Title), words.Count(len(f.Specs)+len(f.Blocked), "spec", "specs"))))
		if f.Do != "" {
			s.out.WriteString(wrap("   ", 3, s.o.width(), report.Line(f.Do)))
		}
	}
	if more := len(all) - maxFindings; more > 0 {
		fmt.Fprintf(s.out, "   and %s more: see report.html\n", words.Count(more, "cause", "causes"))
	}
}

// whatItMeans says in words what the marks of a run stand for.
func whatItMeans(r *report.Run) string {
	switch {
	case r.Simulated:
		return "no real GPU was tested"
	default:
		return "each GPU was its own peer"
	}
}

// alike is specs of one check with one verdict and code.
type alike struct {
	first  *report.Spec
	others []*report.Spec
}

// group puts specs that ended alike together, in order of the first.
func group(specs []report.Spec) []*alike {
	var all []*alike
	type kind struct {
		check, code, cause string
		verdict            verdict.Verdict
	}
	known := map[kind]*alike{}
	for i := range specs {
		s := &specs[i]
		if s.Verdict == verdict.Pass {
			continue
		}
		k := kind{check: s.Check(), code: s.Code, verdict: s.Verdict}
		switch {
		case report.Follows(s.Code):
			k.cause = s.Message
		case s.Waiver != nil:
			k.cause = report.Excuse(s.Waiver)
		}
		if g := known[k]; g != nil {
			g.others = append(g.others, s)
			continue
		}
		known[k] = &alike{first: s}
		all = append(all, known[k])
	}
	return all
}

type summary struct {
	out    *strings.Builder
	o      Options
	busIDs map[string]string // by slot
}

// group writes one failure in full and names those like it.
func (s *summary) group(g *alike) {
	f, width := g.first, s.o.width()
	const indent = 7
	pad := strings.Repeat(" ", indent)
	head := report.Line(f.ID) + " " + report.Line(f.Code)
	if f.Path != "" {
		head += ", path " + report.Line(f.Path)
	}
	s.out.WriteString(s.o.word(f.Verdict) + wrap(pad, indent, width, head)[6:])
	if m := f.Figure(); m != nil {
		s.out.WriteString(wrap(pad, indent, width, report.Line(m.Name)+" "+report.FigureText(m)))
	}
	if f.Message != "" {
		s.out.WriteString(wrap(pad, indent, width, f.Message))
	}
	if where := s.where(f.Subject); where != "" {
		s.out.WriteString(wrap(pad, indent, width, where))
	}
	if f.Hint != "" {
		s.out.WriteString(wrap(pad+"hint: ", indent+6, width, f.Hint))
	}
	if len(g.others) > 0 {
		s.out.WriteString(wrap(pad, indent, width, "and "+itoa(len(g.others))+" more: "+names(g.others)))
	}
}

// where says at which bus ids a subject's GPUs are.
func (s *summary) where(subject *report.Subject) string {
	var all []string
	for _, slot := range subject.Slots() {
		if id := s.busIDs[slot]; id != "" {
			all = append(all, slot+" is "+report.Line(id))
		}
	}
	return strings.Join(all, ", ")
}

// names are the subjects of specs, the first of many.
func names(specs []*report.Spec) string {
	var all []string
	for i, spec := range specs {
		if i == maxNamed {
			all = append(all, "…")
			break
		}
		name := strings.TrimPrefix(spec.ID, spec.Check())
		name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
		var about []string
		if m := spec.Figure(); m != nil {
			about = append(about, report.Number(m.Value))
		}
		if n := len(spec.Attempts); n > 0 {
			about = append(about, fmt.Sprintf("%d of %d runs", spec.BadAttempts(), n))
		}
		if len(about) > 0 {
			name += " (" + strings.Join(about, ", ") + ")"
		}
		all = append(all, report.Line(name))
	}
	return strings.Join(all, ", ")
}

// briefly writes a line for each code of a verdict, of what is waived one for
// each waiver, of those that follow from other failures one for each cause:
// what was not tested must not go unseen.
func (s *summary) briefly(groups []*alike, v verdict.Verdict, follow bool) {
	type kind struct{ code, cause string }
	type line struct {
		kind
		why    string
		checks []string
		specs  int
	}
	var all []*line
	known := map[kind]*line{}
	for _, g := range groups {
		if g.first.Verdict != v || report.Follows(g.first.Code) != follow {
			continue
		}
		k := kind{code: g.first.Code}
		why := g.first.Message
		switch {
		case follow:
			k.cause = why
		case g.first.Waiver != nil:
			why = report.Excuse(g.first.Waiver)
			k.cause = why
		}
		c := known[k]
		if c == nil {
			c = &line{kind: k, why: why}
			known[k] = c
			all = append(all, c)
		}
		c.specs += 1 + len(g.others)
		c.checks = append(c.checks, g.first.Check())
	}
	for i, c := range all {
		if follow && i == maxCauses {
			s.out.WriteString(s.o.word(v) + wrap("       ", 7, s.o.width(), "and "+itoa(len(all)-i)+" more causes, see the reports")[6:])
			break
		}
		text := fmt.Sprintf("%s, %s: %s", report.Line(c.code), words.Count(c.specs, "spec", "specs"), someChecks(c.checks))
		if c.why != "" {
			text += " (" + report.Line(c.why) + ")"
		}
		s.out.WriteString(s.o.word(v) + wrap("       ", 7, s.o.width(), text)[6:])
	}
}

func someChecks(ids []string) string {
	if len(ids) > maxNamed {
		ids = append(ids[:maxNamed:maxNamed], "…")
	}
	return report.Line(strings.Join(ids, ", "))
}

// countsText is counts in words, those that are not zero.
func countsText(c report.Counts) string {
	var parts []string
	add := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, words.Count(n, one, many))
		}
	}
	add(c.Fail, "failed", "failed")
	add(c.Error, "error", "errors")
	add(c.Pass, "passed", "passed")
	add(c.Waived, "waived", "waived")
	add(c.Skip, "skipped", "skipped")
	if len(parts) == 0 {
		return "nothing ran"
	}
	return strings.Join(parts, ", ")
}
