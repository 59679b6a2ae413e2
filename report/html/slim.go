package html

import (
	"slices"

	"github.com/peerproof/peerproof/report"
)

// maxKept bounds each text before anything looks at it: a text is searched,
// compared and quoted many times, and a GPU may claim a name of 10 MB.
const maxKept = 3 * maxText

// slim is the results with every text bounded. Nothing is copied where nothing
// is too long, which is nearly always.
func slim(r *report.Results) *report.Results {
	c := *r
	shorten(&c.Run.ID, &c.Run.Tool, &c.Run.Host, &c.Run.Serial, &c.Run.Node, &c.Run.Profile)
	if slices.ContainsFunc(c.Run.Args, long) {
		c.Run.Args = nil // no command line is that long
	}
	if long(string(c.Verdict)) {
		c.Verdict = ""
	}
	c.Warnings = slices.Clone(c.Warnings)
	for i := range c.Warnings {
		shorten(&c.Warnings[i])
	}
	c.GPUs = slices.Clone(c.GPUs)
	for i := range c.GPUs {
		g := &c.GPUs[i]
		shorten(&g.Slot, &g.BusID, &g.UUID, &g.Serial, &g.Model)
	}
	if c.Node != nil {
		c.Node = c.Node.Clone()
		for i := range c.Node.GPUs {
			g := &c.Node.GPUs[i]
			shorten(&g.BusID, &g.UUID, &g.Serial, &g.Model, &g.Hung)
			for k := range g.Above {
				shorten(&g.Above[k].BusID)
			}
			for k := range g.NVLinks {
				shorten(&g.NVLinks[k].Remote)
			}
		}
	}
	copied := false
	for i := range c.Specs {
		if !longSpec(&c.Specs[i]) {
			continue
		}
		if !copied {
			c.Specs, copied = slices.Clone(c.Specs), true
		}
		slimSpec(&c.Specs[i])
	}
	return &c
}

func long(text string) bool { return len(text) > maxKept }

func shorten(texts ...*string) {
	for _, t := range texts {
		if long(*t) {
			*t = report.Cut(*t, maxKept, "…")
		}
	}
}

func longSpec(s *report.Spec) bool {
	for i := range s.Measurements {
		if m := &s.Measurements[i]; long(m.Name) || long(m.Unit) || long(m.Basis) {
			return true
		}
	}
	for i := range s.Attempts {
		if a := &s.Attempts[i]; long(a.Message) || long(a.Code) {
			return true
		}
	}
	if w := s.Waiver; w != nil && (long(w.Reason) || long(w.Owner) || long(w.Expires)) {
		return true
	}
	return long(string(s.Verdict)) || long(s.ID) || long(s.Text) || long(s.Code) || long(s.Message) || long(s.Hint) || long(s.Path)
}

func slimSpec(s *report.Spec) {
	shorten(&s.ID, &s.Text, &s.Code, &s.Message, &s.Hint, &s.Path)
	if long(string(s.Verdict)) {
		s.Verdict = ""
	}
	if s.Subject != nil {
		subject := *s.Subject
		shorten(&subject.From, &subject.To, &subject.GPU)
		s.Subject = &subject
	}
	s.Measurements = slices.Clone(s.Measurements)
	for i := range s.Measurements {
		m := &s.Measurements[i]
		shorten(&m.Name, &m.Unit, &m.Basis)
	}
	s.Attempts = slices.Clone(s.Attempts)
	for i := range s.Attempts {
		shorten(&s.Attempts[i].Code, &s.Attempts[i].Message)
	}
	if s.Waiver != nil {
		w := *s.Waiver
		shorten(&w.Spec, &w.Reason, &w.Owner, &w.Expires)
		s.Waiver = &w
	}
}
