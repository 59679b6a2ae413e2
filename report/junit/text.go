package junit

import (
	"fmt"
	"strings"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

// cut stands where a case's text was too long.
const cut = "\n[cut here; the whole text is in journal.jsonl]\n"

// properties name the parts and the figures that a case is about.
func (d *document) properties(s *report.Spec) *[]junit.Property {
	var all []junit.Property
	add := func(name, value string) {
		if value = report.Line(value); value != "" {
			all = append(all, junit.Property{Name: report.Line(name), Value: report.Cut(value, maxMessage, "…")})
		}
	}
	add("code", s.Code)
	add("path", s.Path)
	if s.Verdict == verdict.Waived {
		add("waived", s.Message)
	}
	if w := s.Waiver; w != nil {
		add("waiver.spec", w.Spec)
		add("waiver.reason", w.Reason)
		add("waiver.owner", w.Owner)
		add("waiver.expires", w.Expires)
	}
	for _, slot := range s.Subject.Slots() {
		if g := d.gpus[slot]; g != nil {
			add(slot+".bus_id", g.BusID)
			add(slot+".uuid", g.UUID)
			add(slot+".serial", g.Serial)
		}
	}
	decides := s.Figure()
	for i := range s.Measurements {
		m := &s.Measurements[i]
		prefix := m.Name + "."
		if m == decides {
			prefix = ""
			add("measurement", m.Name)
		}
		add(prefix+"value", report.Number(m.Value))
		add(prefix+"unit", m.Unit)
		if m.Floor > 0 {
			add(prefix+"floor", report.Number(m.Floor))
		}
		if m.Theoretical > 0 {
			add(prefix+"theoretical", report.Number(m.Theoretical))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &all
}

// excuse is what stands of a waiver in the message of its case.
func excuse(s *report.Spec) string {
	if s.Waiver == nil {
		return ""
	}
	return report.Cut(report.Excuse(s.Waiver), maxMessage/2, "…") + "; "
}

// text is the body of a case that did not pass. The first line holds verdict
// and number, since some readers show no more; what may be long comes last.
func (d *document) text(s *report.Spec, limit int) string {
	var b strings.Builder
	line := func(name, value string) {
		if value = report.Line(value); value != "" {
			fmt.Fprintf(&b, "%s%s\n", name, report.Cut(value, maxMessage, "…"))
		}
	}
	headline := report.Headline(s)
	line("", headline)
	if d.results.Run.Simulated {
		line("", "SIMULATED: no real GPU was tested")
	}
	if d.results.Run.Loopback {
		line("", "LOOPBACK: each GPU was its own peer")
	}
	if s.Waiver != nil {
		line("waived ", report.Excuse(s.Waiver))
		line("waived by the pattern: ", s.Waiver.Spec)
	}
	line("requirement: ", s.Text)
	line("hint: ", s.Hint)
	line("path: ", s.Path)
	for _, slot := range s.Subject.Slots() {
		if g := d.gpus[slot]; g != nil {
			line(slot+": ", fmt.Sprintf("%s, bus id %s, uuid %s, serial %s", orElse(g.Model, "model unknown"),
				orElse(g.BusID, "unknown"), orElse(g.UUID, "unknown"), orElse(g.Serial, "unknown")))
		}
	}
	line("again: ", d.results.Run.Reproduce(s.ID))
	for i := range s.Measurements {
		m := &s.Measurements[i]
		line("measured: ", report.Line(m.Name)+" "+report.FigureText(m)+samples(m.Samples))
	}
	for i := range s.Attempts {
		a := &s.Attempts[i]
		said := string(a.Verdict)
		if a.Code != "" {
			said += " " + a.Code + ": " + a.Message
		}
		line(fmt.Sprintf("run %d of %d: ", i+1, len(s.Attempts)), said)
	}
	message := strings.TrimRight(report.Plain(s.Message), "\n")
	if strings.Contains(message, "\n") || len(headline) > maxMessage {
		b.WriteString("\n" + message + "\n")
	}
	return report.Cut(b.String(), limit, cut)
}

func samples(all []float64) string {
	if len(all) == 0 {
		return ""
	}
	words := make([]string, len(all))
	for i, v := range all {
		words[i] = report.Number(v)
	}
	return ", samples " + strings.Join(words, " ")
}
