package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/google/renameio/v2"

	"github.com/peerproof/peerproof/fixtures/jsontext"
	"github.com/peerproof/peerproof/internal/files"
)

// WriteJSON writes results.json, one spec a line. Specs are written one by
// one: 72 GPUs have 180,000.
func WriteJSON(w io.Writer, r *Results) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // an id holds "->", and people grep for it
	head := *r
	head.Specs = []Spec{}
	if err := enc.Encode(head); err != nil {
		return fmt.Errorf("encode results: %w", err)
	}
	const tail = "]}\n"
	buf.Truncate(buf.Len() - len(tail))
	for i := range r.Specs {
		if i > 0 {
			buf.WriteByte(',')
		}
		buf.WriteByte('\n')
		if err := enc.Encode(&r.Specs[i]); err != nil {
			return fmt.Errorf("encode %s: %w", r.Specs[i].ID, err)
		}
		buf.Truncate(buf.Len() - 1) // the encoder's newline
		if _, err := w.Write(jsontext.Escape(buf.Bytes())); err != nil {
			return err
		}
		buf.Reset()
	}
	buf.WriteString(tail)
	_, err := w.Write(jsontext.Escape(buf.Bytes()))
	return err
}

// WriteFile writes a document so that a reader, or a power cut, sees the old
// one or the whole new one.
func WriteFile(path string, write func(io.Writer) error) error {
	if err := replace(path, write); err != nil {
		return fmt.Errorf("%s: %w", path, files.Cause(err))
	}
	return nil
}

func replace(path string, write func(io.Writer) error) (err error) {
	file, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
	if err != nil {
		return err
	}
	defer func() {
		if e := file.Cleanup(); err == nil {
			err = e
		}
	}()
	buffered := bufio.NewWriterSize(file, 1<<16)
	if err := write(buffered); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	return file.CloseAtomicallyReplace()
}
