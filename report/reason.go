package report

import (
	"fmt"
	"strconv"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/internal/words"
)

// MaxReason bounds what Reason returns, in bytes: a line that a scheduler's
// list of nodes can hold.
const MaxReason = 120

// Reason says on one line why a run ended as it did, for those who keep such a
// line beside a node (Slurm's Reason, a condition of Kubernetes): verdict, code,
// id and serial number of the spec to look at first, and how many more there
// are; of a run without such a spec how many passed, whether that were all, and
// how many are waived. A run whose verdict is none says that first. The line is
// never empty and at most MaxReason bytes; what would not fit is left out from
// its end, so that its first words are the ones that matter.
func Reason(r *Results) string {
	text := ""
	if caveat := r.Caveat(); caveat != "" {
		text = caveat + ": "
	}
	if marks := r.Run.Marks(); marks != "" {
		text += marks + " "
	}
	s, more := r.leading()
	if s == nil {
		return Cut(text+r.passed(), MaxReason, "…")
	}
	text += string(s.Verdict) + " "
	if code := Line(s.Code); code != "" {
		text += code + " "
	}
	text += Line(s.ID)
	var parts []string
	if s.Code != verdict.NotRun { // that says nothing of the parts
		parts = append(parts, r.hardware(s.Subject))
	}
	if more > 0 {
		parts = append(parts, ", "+strconv.Itoa(more)+" more")
	}
	for _, part := range parts {
		if len(text)+len(part) <= MaxReason {
			text += part
		}
	}
	return Cut(text, MaxReason, "…")
}

// passed is the line of a run in which nothing is bad.
func (r *Results) passed() string {
	text := fmt.Sprintf("%d of %s passed", r.Counts.Pass, words.Count(r.Counts.Total(), "spec", "specs"))
	if r.Live {
		text += " so far"
	} else {
		text = string(r.Verdict) + ", " + text
	}
	if r.Counts.Waived > 0 {
		text += ", " + strconv.Itoa(r.Counts.Waived) + " waived"
	}
	if r.Partial() != "" {
		text = "PARTIAL " + text
	}
	return text
}

// leading is the spec that explains the run's verdict: the first in the order
// of the plan, in which causes stand before their consequences; nil for a pass,
// and for a run that goes on in which nothing is bad so far. More is how many
// others of their own ended badly.
func (r *Results) leading() (s *Spec, more int) {
	const failed, erred, followed, skipped, none = 0, 1, 2, 3, 4
	best := none
	for i := range r.Specs {
		rank := none
		switch candidate := &r.Specs[i]; {
		case candidate.Verdict == verdict.Fail:
			rank = failed
		case candidate.Verdict == verdict.Error && !Follows(candidate.Code):
			rank = erred
		case candidate.Verdict == verdict.Error && !r.Live: // else its turn may come
			rank = followed
		case candidate.Verdict == verdict.Skip && r.Verdict == verdict.Skip:
			rank = skipped
		}
		if rank <= erred {
			more++
		}
		if rank < best {
			best, s = rank, &r.Specs[i]
		}
	}
	if best <= erred {
		more--
	}
	return s, more
}

// hardware names the parts that a subject is made of, by serial number, or by
// bus id where they tell none; of the whole node the server's serial number.
func (r *Results) hardware(subject *Subject) string {
	if subject == nil {
		if serial := Line(r.Run.Serial); serial != "" {
			return " server " + serial
		}
		return ""
	}
	var text string
	for _, slot := range subject.Slots() {
		for i := range r.GPUs {
			g := &r.GPUs[i]
			switch {
			case g.Slot != slot:
			case Line(g.Serial) != "":
				text += " serial " + Line(g.Serial)
			case Line(g.BusID) != "":
				text += " at " + Line(g.BusID)
			}
		}
	}
	return text
}

// Follows says that a spec with this code was not decided because of another
// one: it is no cause to look at.
func Follows(code string) bool { return code == verdict.BlockedBy || code == verdict.NotRun }
