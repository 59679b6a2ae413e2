package report

import (
	"fmt"
	"strings"

	"github.com/peerproof/peerproof/internal/words"
)

// maxSelection bounds one expression of a selection where it is shown, in bytes.
const maxSelection = 160

// Partial says that only a selection of the specs ran, and which:
// `PARTIAL: only -k "access", 56 specs`. It is "" where a preset that judges a
// whole server ran whole. How many specs the selection left out is not in the
// journal.
func (r *Results) Partial() string {
	var by []string
	switch r.Run.Preset {
	case "", "acceptance", "rma": // the whole of its purpose, if without the slow ones
	default:
		by = append(by, "preset "+Cut(Line(r.Run.Preset), maxSelection, "…"))
	}
	if r.Run.Keyword != "" {
		by = append(by, `-k "`+Cut(Line(r.Run.Keyword), maxSelection, "…")+`"`)
	}
	if r.Run.Labels != "" {
		by = append(by, `-m "`+Cut(Line(r.Run.Labels), maxSelection, "…")+`"`)
	}
	if r.Run.Only > 0 {
		by = append(by, fmt.Sprintf("--last-failed (%s)", words.Count(r.Run.Only, "id", "ids")))
	}
	if len(by) == 0 {
		return ""
	}
	return "PARTIAL: only " + strings.Join(by, " with ") + ", " + words.Count(r.Counts.Total(), "spec", "specs")
}
