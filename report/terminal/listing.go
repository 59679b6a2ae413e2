package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/internal/words"
	"github.com/peerproof/peerproof/report"
)

// letters are those of -r, in the order in which the verdicts are listed.
var letters = []struct {
	letter  rune
	verdict verdict.Verdict
}{
	{'p', verdict.Pass},
	{'s', verdict.Skip},
	{'w', verdict.Waived},
	{'E', verdict.Error},
	{'f', verdict.Fail},
}

// ListingHelp says which letters ParseListing takes.
const ListingHelp = "letters of f failed, E errors, s skipped, w waived, p passed, a all but passed, A all, N none"

// ParseListing reads pytest's letters: which verdicts have a line for each
// spec in the summary. N takes back those before it.
func ParseListing(chars string) ([]verdict.Verdict, error) {
	wanted := map[verdict.Verdict]bool{}
	for i, c := range []rune(chars) {
		switch c {
		case 'A', 'a':
			for _, l := range letters {
				if c == 'A' || l.verdict != verdict.Pass {
					wanted[l.verdict] = true
				}
			}
			continue
		case 'N':
			clear(wanted)
			continue
		}
		known := false
		for _, l := range letters {
			if l.letter == c {
				wanted[l.verdict], known = true, true
			}
		}
		if !known {
			return nil, fmt.Errorf("column %d: %q is no such letter; expected %s", i+1, c, ListingHelp)
		}
	}
	if chars == "" {
		return nil, fmt.Errorf("it is empty; expected %s", ListingHelp)
	}
	var all []verdict.Verdict
	for _, l := range letters {
		if wanted[l.verdict] {
			all = append(all, l.verdict)
		}
	}
	return all, nil
}

// listing writes a line for each spec of the verdicts that were asked for.
func (s *summary) listing(specs []report.Spec) {
	for _, v := range s.o.List {
		for i := range specs {
			if specs[i].Verdict == v {
				s.out.WriteString(s.o.specLine(&specs[i]))
			}
		}
	}
}

// durations writes the slowest specs that ran, so many of them.
func (s *summary) durations(specs []report.Spec) {
	if s.o.Durations == 0 {
		return
	}
	var ran []*report.Spec
	for i := range specs {
		if specs[i].Duration > 0 {
			ran = append(ran, &specs[i])
		}
	}
	slices.SortStableFunc(ran, func(a, b *report.Spec) int { return cmp.Compare(b.Duration, a.Duration) })
	title := "slowest " + words.Count(len(ran), "spec", "specs")
	if n := s.o.Durations; n > 0 && n < len(ran) {
		ran = ran[:n]
		title = "slowest " + words.Count(n, "spec", "specs")
	}
	if len(ran) == 0 {
		title = "no spec ran: none is slow"
	}
	s.out.WriteString(title + "\n")
	for _, spec := range ran {
		s.out.WriteString(wrap(fmt.Sprintf("%9.2f s  ", spec.Duration), 13, s.o.width(), spec.ID))
	}
}

// specLine is a spec's outcome, wrapped.
func (o Options) specLine(s *report.Spec) string {
	text := report.Line(s.ID)
	if s.Code != "" {
		text += " " + report.Line(s.Code)
	}
	if m := s.Figure(); m != nil {
		text += ", " + report.FigureText(m)
	}
	if s.Verdict != verdict.Pass && s.Message != "" {
		text += ": " + report.Line(s.Message)
	}
	if s.Waiver != nil {
		text += " (" + report.Excuse(s.Waiver) + ")"
	}
	if s.Verdict == verdict.Pass && s.Duration > 0 {
		text += fmt.Sprintf(", %.2f s", s.Duration)
	}
	return o.word(s.Verdict) + strings.TrimPrefix(wrap("       ", 7, o.width(), text), "      ")
}
