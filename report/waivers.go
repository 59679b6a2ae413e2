package report

import (
	"fmt"
	"time"

	"github.com/peerproof/peerproof/fixtures/profile"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/internal/words"
)

// Excuse is a waiver in a few words: "until 2027-01-31, the lab: riser on order".
func Excuse(w *Waiver) string {
	return Line(fmt.Sprintf("until %s, %s: %s", w.Expires, w.Owner, w.Reason))
}

// staleWaivers says of each waiver of a profile that excused nothing in a run
// that began at a time why that is: it has expired, or nothing that it covers
// failed. Of one whose specs were not all run nothing can be said.
func staleWaivers(p *profile.Profile, began time.Time, specs []Spec) (warnings []string) {
	for _, w := range p.Waivers() {
		covered, open, excused, bad := 0, 0, 0, 0
		for i := range specs {
			s := &specs[i]
			if !w.Covers(s.ID) {
				continue
			}
			covered++
			switch s.Verdict {
			case verdict.Waived:
				if s.Waiver != nil && *s.Waiver == w.Waiver && (w.Code == "" || w.Code == s.Code) {
					excused++
				}
			case verdict.Fail, verdict.Error:
				bad++
				if s.Code == verdict.NotRun {
					open++
				}
			case verdict.Pass, verdict.Skip:
			}
		}
		name := "the waiver of " + w.Spec
		if w.Code != "" {
			name += " with code " + w.Code
		}
		name += " (" + w.Owner + ": " + w.Reason + ")"
		all := words.Count(covered, "spec", "specs")
		switch {
		case w.Expired(began):
			warnings = append(warnings, fmt.Sprintf("%s has expired: its last day was %s. Of %s that it covers %d failed or erred", name, w.Expires, all, bad))
		case excused > 0 || open > 0:
		case covered == 0:
			warnings = append(warnings, name+" matches no spec of this run: it is misspelled, or they were not selected")
		case bad > 0:
			warnings = append(warnings, fmt.Sprintf("%s excused nothing: of %s that it covers %d failed or erred, with other codes", name, all, bad))
		default:
			warnings = append(warnings, fmt.Sprintf("%s excused nothing: of %s that it covers none needed it. Take it out", name, all))
		}
	}
	return warnings
}

// waivers adds the warnings of staleWaivers.
func (b *builder) waivers() {
	r := b.results
	if r.ProfileText == "" {
		return
	}
	p, err := profile.Parse(r.Run.Profile, []byte(r.ProfileText))
	if err != nil {
		b.warn("the profile in the journal cannot be read, so that its waivers are not looked at: %v", err)
		return
	}
	r.Warnings = append(r.Warnings, staleWaivers(p, r.Run.Started, r.Specs)...)
}
