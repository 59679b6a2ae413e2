package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/peerproof/peerproof/internal/words"
	"github.com/peerproof/peerproof/runner/journal"
)

// chainBroken begins the warning of a journal that is not as it was written.
const chainBroken = "THE JOURNAL'S HASH CHAIN IS BROKEN"

// ProvesNothing says whether one of a run's warnings is that its journal's hash
// chain is broken: whatever the verdict is, it is then worth nothing.
func ProvesNothing(warnings []string) bool {
	return slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, chainBroken) })
}

// Caveat is what stands in the place of a run's verdict, in capital letters,
// where that is none: the journal is not as it was written, or the run still
// goes on. It is "" for all others.
func (r *Results) Caveat() string {
	switch {
	case ProvesNothing(r.Warnings):
		return "PROVES NOTHING, CHAIN BROKEN"
	case r.Live:
		return "STILL GOING ON"
	}
	return ""
}

// read folds the events of a journal, and takes note of what is wrong with it.
func (b *builder) read(r io.Reader) error {
	var (
		torn   *journal.TornError
		end    *journal.BrokenError
		broken []*journal.BrokenError
	)
	err := journal.Recover(r, func(e journal.Event) error {
		b.add(&e)
		return nil
	}, func(e *journal.BrokenError) { broken = append(broken, e) })
	switch {
	case errors.As(err, &torn) && b.live: // the line is being written
	case errors.As(err, &torn):
		b.warn("the last line of the journal (%d) is torn: the run was cut off while writing it, and the line is left out", torn.Line)
	case errors.As(err, &end): // nothing after it can be read
		broken = append(broken, end)
	case err != nil:
		return err
	}
	if len(broken) > 0 {
		b.warn("%s: this is not what the run wrote, or the file is damaged, and the results prove nothing. In %s, the first in line %d, which %s",
			chainBroken, words.Count(len(broken), "place", "places"), broken[0].Line, broken[0].What)
	}
	return nil
}

func (b *builder) warn(format string, args ...any) {
	b.results.Warnings = append(b.results.Warnings, fmt.Sprintf(format, args...))
}
