package journal

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// BrokenError says that a journal is not as it was written: a line was
// changed, lost, added, or is no event.
type BrokenError struct {
	Line int // from 1
	What string
}

func (e *BrokenError) Error() string { return fmt.Sprintf("journal: line %d: %s", e.Line, e.What) }

// TornError says that the last line has no newline: the machine or the process
// went down while it was written. All lines before it are whole.
type TornError struct {
	Line   int   // of the torn one, from 1
	Offset int64 // where it begins, in bytes
}

func (e *TornError) Error() string {
	return fmt.Sprintf("journal: line %d is torn: the run was cut off while writing it", e.Line)
}

// maxLine bounds one line in bytes. The longest is the inventory of a node,
// which grows with the square of its GPUs: 0.5 MB for 72.
const maxLine = 64 << 20

// Scan reads a journal and calls fn for each event in order, verifying the
// sequence numbers and the chain of hashes on the way. It returns a
// *BrokenError at the first line that does not fit, a *TornError after the
// last whole line where an unfinished one follows, and fn's own errors.
func Scan(r io.Reader, fn func(Event) error) error {
	var c chain
	return c.scan(r, fn)
}

// Recover is Scan for a reader that wants all that is left of a damaged
// journal: it calls broken for each line that does not fit, hands on the event
// in it if there is one, and goes on from there.
func Recover(r io.Reader, fn func(Event) error, broken func(*BrokenError)) error {
	c := chain{broken: broken}
	return c.scan(r, fn)
}

// chain is where a journal stands: how many lines it has, and the hash of the
// last one.
type chain struct {
	lines  uint64
	prev   string
	offset int64              // bytes so far
	broken func(*BrokenError) // where set, a line that does not fit is no end
}

// add takes note of one more line, given without its newline.
func (c *chain) add(line []byte) {
	sum := sha256.Sum256(line)
	c.prev = hex.EncodeToString(sum[:])
	c.lines++
	c.offset += int64(len(line)) + 1
}

func (c *chain) scan(r io.Reader, fn func(Event) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for at := 1; ; at++ {
		line = line[:0]
		var err error
		for {
			var part []byte
			part, err = in.ReadSlice('\n')
			line = append(line, part...)
			if !errors.Is(err, bufio.ErrBufferFull) || len(line) > maxLine {
				break
			}
		}
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil
		case errors.Is(err, io.EOF):
			return &TornError{Line: at, Offset: c.offset}
		case len(line) > maxLine:
			return &BrokenError{at, fmt.Sprintf("longer than %d bytes", maxLine)}
		case err != nil:
			return fmt.Errorf("read journal: line %d: %w", at, err)
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		e, what := c.event(line)
		if what != "" {
			if c.broken == nil {
				return &BrokenError{at, what}
			}
			c.broken(&BrokenError{at, what})
			if e.Type == "" {
				c.add(line)
				continue
			}
			c.lines = e.Seq - 1 // the next line is held against this one
		}
		c.add(line)
		if err := fn(e); err != nil {
			return err
		}
	}
}

// event decodes a line and says what is wrong with it, "" if nothing is.
func (c *chain) event(line []byte) (e Event, what string) {
	if err := json.Unmarshal(line, &e); err != nil {
		return Event{}, "is no event: " + err.Error()
	}
	switch {
	case e.Seq != c.lines+1:
		return e, fmt.Sprintf("has sequence number %d, expected %d: lines were lost or added", e.Seq, c.lines+1)
	case e.Prev != c.prev:
		return e, "does not carry the hash of the line before: that line was changed"
	case e.Type == "":
		return e, "is no event: it has no type"
	case c.lines == 0 && (e.Type != TypeRun || e.Run == nil):
		return e, fmt.Sprintf("is of type %q: a journal begins with a run", e.Type)
	}
	return e, ""
}
