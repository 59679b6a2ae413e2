package terminal

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/peerproof/peerproof/internal/words"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/diff"
)

// maxFigures is how many figures of one check are shown.
const maxFigures = 8

// Diff writes what changed between two runs: first what got worse, then the
// rest, then what is different about the server and the runs.
func Diff(w io.Writer, d *diff.Diff, o Options) error {
	var out strings.Builder
	c := comparison{out: &out, o: o}
	marks := d.After.Marks
	if marks == "" {
		marks = d.Before.Marks
	}
	out.WriteString(o.banner(strings.TrimSpace(marks + " diff")))
	c.side("before ", &d.Before)
	c.side("after  ", &d.After)
	c.specs("NEW", red, d.New, true)
	c.specs("LOST", red, d.Lost, true)
	c.figures("SLOWER", red, d.Figures, true)
	c.changes(d.Changes, true)
	c.specs("CODE", yellow, d.Changed, true)
	c.specs("STILL", yellow, d.Still, false)
	c.specs("WAIVED", yellow, d.Waived, false)
	c.specs("FIXED", green, d.Fixed, false)
	c.specs("GAINED", green, d.Gained, false)
	c.figures("FASTER", green, d.Figures, false)
	c.changes(d.Changes, false)
	c.only("only in the earlier run", d.OnlyBefore)
	c.only("only in the later run", d.OnlyAfter)
	both := d.After.Counts.Total() - len(d.OnlyAfter)
	out.WriteString(wrap("", 2, o.width(), fmt.Sprintf("%s in both runs: %s, %d lost, %d fixed, %d still failing; %d of %s moved beyond their noise",
		words.Count(both, "spec", "specs"), words.Count(len(d.New), "new failure", "new failures"), len(d.Lost), len(d.Fixed), len(d.Still)+len(d.Changed),
		len(d.Figures), words.Count(d.Compared, "figure", "figures"))))
	last := "NOTHING GOT WORSE"
	switch {
	case d.After.Caveat != "":
		last = "LATER RUN " + d.After.Caveat
	case d.Before.Caveat != "":
		last = "EARLIER RUN " + d.Before.Caveat
	case d.Worse:
		last = "WORSE"
	}
	if marks != "" {
		last += ", " + marks
	}
	out.WriteString(o.banner(last))
	_, err := io.WriteString(w, out.String())
	return err
}

type comparison struct {
	out *strings.Builder
	o   Options
}

// entry writes a paragraph after a word in capital letters.
func (c *comparison) entry(word, style, text string) {
	c.out.WriteString(c.o.paint(style, word) + strings.Repeat(" ", max(0, 6-len(word))) + wrap("       ", 7, c.o.width(), text)[6:])
}

func (c *comparison) more(text string) {
	c.out.WriteString(wrap("       ", 7, c.o.width(), text))
}

func (c *comparison) side(name string, s *diff.Side) {
	text := fmt.Sprintf("%s on %s, %s, %s", report.Line(s.Run), report.Line(s.Host), s.Started.UTC().Format("2006-01-02 15:04 MST"), report.Line(s.Tool))
	if s.Profile != "" {
		text += ", profile " + report.Line(s.Profile)
	}
	text += fmt.Sprintf(", preset %s: %s (%s), exit %d", report.Line(s.Preset), cmp.Or(report.Line(s.Caveat), strings.ToUpper(report.Line(string(s.Verdict)))), countsText(s.Counts), s.Exit)
	c.out.WriteString(wrap(name, 7, c.o.width(), text))
	for _, warning := range s.Warnings {
		c.more("WARNING: " + warning)
	}
}

// outcome is a verdict and its code.
func outcome(o diff.Outcome) string {
	return strings.TrimSpace(report.Line(string(o.Verdict)) + " " + report.Line(o.Code))
}

// specs writes those that changed alike together, the first one in full.
func (c *comparison) specs(word, style string, specs []diff.Spec, full bool) {
	type kind struct {
		check         string
		before, after diff.Outcome
	}
	var order []kind
	groups := map[kind][]report.Spec{}
	first := map[kind]*diff.Spec{}
	for i := range specs {
		s := report.Spec{ID: specs[i].ID}
		k := kind{s.Check(), specs[i].Before, specs[i].After}
		if first[k] == nil {
			first[k] = &specs[i]
			order = append(order, k)
		}
		groups[k] = append(groups[k], s)
	}
	for _, k := range order {
		change := outcome(k.before)
		if k.before != k.after {
			change += " -> " + outcome(k.after)
		}
		group := groups[k]
		if !full {
			text := report.Line(k.check) + ": " + change
			if subjects := names(pointers(group)); subjects != report.Line(k.check) && subjects != "" {
				text += ", " + words.Count(len(group), "spec", "specs") + ": " + subjects
			}
			c.entry(word, style, text)
			continue
		}
		c.entry(word, style, report.Line(first[k].ID)+" "+change)
		if message := first[k].Message; message != "" {
			c.more(message)
		}
		if len(group) > 1 {
			c.more("and " + itoa(len(group)-1) + " more: " + names(pointers(group[1:])))
		}
	}
}

func pointers(specs []report.Spec) []*report.Spec {
	all := make([]*report.Spec, len(specs))
	for i := range specs {
		all[i] = &specs[i]
	}
	return all
}

// figures writes those that got worse, or those that got better, each check's
// together.
func (c *comparison) figures(word, style string, figures []diff.Figure, worse bool) {
	type kind struct{ check, name string }
	var order []kind
	groups := map[kind][]*diff.Figure{}
	for i := range figures {
		f := &figures[i]
		if f.Worse != worse {
			continue
		}
		k := kind{(&report.Spec{ID: f.ID}).Check(), f.Name}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], f)
	}
	for _, k := range order {
		group := groups[k]
		for i, f := range group {
			if i == maxFigures {
				c.more(fmt.Sprintf("and %d more of %s, by %.1f%% and less", len(group)-i, report.Line(k.check), abs(f.Moved)))
				break
			}
			c.entry(word, style, fmt.Sprintf("%s %s %s -> %s %s, %+.1f%% (noise %.1f%%)", report.Line(f.ID), report.Line(f.Name),
				report.Number(f.Before), report.Number(f.After), report.Line(f.Unit), f.Moved, f.Noise))
		}
	}
}

func abs(x float64) float64 { return max(x, -x) }

// kindWords stand before changes that are not for the worse.
var kindWords = map[diff.Kind]string{diff.Run: "RUN", diff.Hardware: "PARTS", diff.Software: "SOFT", diff.Setting: "MODE"}

func (c *comparison) changes(all []diff.Change, worse bool) {
	for i := range all {
		ch := &all[i]
		if ch.Worse != worse {
			continue
		}
		text := report.Line(ch.What)
		if len(ch.GPUs) > 0 {
			slots := ch.GPUs
			if len(slots) > maxNamed {
				slots = append(slots[:maxNamed:maxNamed], "…")
			}
			text += " of " + report.Line(strings.Join(slots, ", "))
		}
		if ch.Before != ch.After {
			text += ": " + orNone(ch.Before) + " -> " + orNone(ch.After)
		} else {
			text += " " + orNone(ch.After)
		}
		if ch.Note != "" {
			text += ": " + report.Line(ch.Note)
		}
		word, style := kindWords[ch.Kind], ""
		if worse {
			word, style = "GONE", red
		}
		c.entry(word, style, text)
	}
}

func orNone(text string) string {
	if text = report.Line(text); text == "" {
		return "none"
	}
	return text
}

// only names ids that one run has alone, by check.
func (c *comparison) only(what string, ids []string) {
	var checks []string
	count := map[string]int{}
	for _, id := range ids {
		check := (&report.Spec{ID: id}).Check()
		if count[check]++; count[check] == 1 {
			checks = append(checks, check)
		}
	}
	for i, check := range checks {
		checks[i] = fmt.Sprintf("%s (%d)", check, count[check])
	}
	if len(ids) > 0 {
		c.entry("ONLY", "", words.Count(len(ids), "spec", "specs")+" "+what+": "+someChecks(checks))
	}
}
