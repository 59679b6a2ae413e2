package report

import (
	"errors"
	"fmt"
	"io"

	"github.com/peerproof/peerproof/runner/journal"
)

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
	case errors.As(err, &torn):
		b.warn("the last line of the journal (%d) is torn: the run was cut off while writing it, and the line is left out", torn.Line)
	case errors.As(err, &end): // nothing after it can be read
		broken = append(broken, end)
	case err != nil:
		return err
	}
	if len(broken) > 0 {
		b.warn("THE JOURNAL'S HASH CHAIN IS BROKEN: this is not what the run wrote, or the file is damaged, and the results prove nothing. In %d place(s), the first in line %d, which %s",
			len(broken), broken[0].Line, broken[0].What)
	}
	return nil
}

func (b *builder) warn(format string, args ...any) {
	b.results.Warnings = append(b.results.Warnings, fmt.Sprintf(format, args...))
}
