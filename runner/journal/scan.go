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

// chain is where a journal stands: how many lines it has, and the hash of the
// last one.
type chain struct {
	lines  uint64
	prev   string
	offset int64 // bytes so far
}

// add takes note of one more line, given without its newline.
func (c *chain) add(line []byte) {
	c.prev = hash(line)
	c.lines++
	c.offset += int64(len(line)) + 1
}

func hash(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

func (c *chain) scan(r io.Reader, fn func(Event) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for {
		var err error
		at := int(c.lines) + 1
		line, err = readLine(in, line[:0], at, c.offset)
		if err == io.EOF { //nolint:errorlint // readLine returns it bare
			return nil
		}
		if err != nil {
			return err
		}
		e, what := decode(line)
		if what == "" {
			what = c.fits(&e)
		}
		if what != "" {
			return &BrokenError{at, what}
		}
		c.add(line)
		if err := fn(e); err != nil {
			return err
		}
	}
}

// readLine appends the next line to buf, without its newline. After the last
// one it returns io.EOF; at and offset tell where the line begins.
func readLine(in *bufio.Reader, buf []byte, at int, offset int64) ([]byte, error) {
	var err error
	for {
		var part []byte
		part, err = in.ReadSlice('\n')
		buf = append(buf, part...)
		if !errors.Is(err, bufio.ErrBufferFull) || len(buf) > maxLine {
			break
		}
	}
	switch {
	case errors.Is(err, io.EOF) && len(buf) == 0:
		return buf, io.EOF
	case errors.Is(err, io.EOF):
		return buf, &TornError{Line: at, Offset: offset}
	case len(buf) > maxLine:
		return buf, &BrokenError{at, fmt.Sprintf("is longer than %d bytes", maxLine)}
	case err != nil:
		return buf, fmt.Errorf("read journal: line %d: %w", at, err)
	}
	return bytes.TrimSuffix(buf, []byte("\n")), nil
}

// decode decodes a line and says what is wrong with it, "" if nothing is; then
// the event is empty.
func decode(line []byte) (e Event, what string) {
	if err := json.Unmarshal(line, &e); err != nil {
		return Event{}, "is no event: " + err.Error()
	}
	if e.Type == "" {
		return Event{}, "is no event: it has no type"
	}
	return e, ""
}

// fits says what is wrong with an event as the next one, "" if nothing is.
func (c *chain) fits(e *Event) (what string) {
	switch {
	case e.Seq != c.lines+1:
		return fmt.Sprintf("has sequence number %d, expected %d: lines were lost or added", e.Seq, c.lines+1)
	case e.Prev != c.prev:
		return "does not carry the hash of the line before: that line was changed"
	case c.lines == 0 && (e.Type != TypeRun || e.Run == nil):
		return fmt.Sprintf("is of type %q: a journal begins with a run", e.Type)
	}
	return ""
}
