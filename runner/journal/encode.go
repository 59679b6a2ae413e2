package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/peerproof/peerproof/fixtures/jsontext"
)

// Encoder writes events as the lines of a new journal, each with its sequence
// number and the hash of the line before it. Writer is for the journal of a
// run; an Encoder is for one that is made from another.
type Encoder struct {
	out   io.Writer
	line  bytes.Buffer
	chain chain
}

// NewEncoder begins a journal on out.
func NewEncoder(out io.Writer) *Encoder { return &Encoder{out: out} }

// Encode writes one event. What it holds as sequence number and hash is
// replaced. Errors are those of the writer, and of an event that has no JSON.
func (e *Encoder) Encode(event Event) error {
	if err := e.chain.encode(&e.line, &event); err != nil {
		return err
	}
	if _, err := e.out.Write(e.line.Bytes()); err != nil {
		return err
	}
	e.chain.add(e.line.Bytes()[:e.line.Len()-1])
	return nil
}

// encode makes an event the next line.
func (c *chain) encode(line *bytes.Buffer, e *Event) error {
	e.Seq, e.Prev = c.lines+1, c.prev
	line.Reset()
	enc := json.NewEncoder(line)
	enc.SetEscapeHTML(false) // a->b stays readable
	if err := enc.Encode(e); err != nil {
		return fmt.Errorf("journal event %d (%s): %w", e.Seq, e.Type, err)
	}
	if safe := jsontext.Escape(line.Bytes()); len(safe) != line.Len() {
		line.Reset()
		line.Write(safe)
	}
	return nil
}

// Head is where a journal's chain of hashes stands.
type Head struct {
	Lines uint64 // whole ones
	Hash  string // hex SHA-256 of the last line, without its newline; "" where there is none
}

// Verify reads a journal and verifies its chain. The head is that of the last
// line that fits; errors are those of Scan.
func Verify(r io.Reader) (Head, error) {
	var c chain
	err := c.scan(r, func(Event) error { return nil })
	return Head{Lines: c.lines, Hash: c.prev}, err
}
