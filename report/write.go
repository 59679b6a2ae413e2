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

// File is a document: where it goes, and what writes it.
type File struct {
	Path  string
	Write func(io.Writer) error
}

// WriteFile writes a document so that a reader, or a power cut, sees the old
// one or the whole new one.
func WriteFile(path string, write func(io.Writer) error) error {
	return WriteFiles(File{path, write})
}

// WriteFiles is WriteFile of documents that belong together: none is replaced
// before all are written, so that a full disk leaves no new one beside an old
// one.
func WriteFiles(documents ...File) (err error) {
	var all []*renameio.PendingFile
	defer func() {
		for _, file := range all {
			if e := file.Cleanup(); err == nil {
				err = e
			}
		}
	}()
	for _, d := range documents {
		file, err := renameio.NewPendingFile(d.Path, renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
		if err == nil {
			all = append(all, file)
			err = fill(file, d.Write)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.Path, files.Cause(err))
		}
	}
	for i, file := range all {
		if err := file.CloseAtomicallyReplace(); err != nil {
			return fmt.Errorf("%s: %w", documents[i].Path, files.Cause(err))
		}
	}
	return nil
}

// fill writes a document into a file, down to the disk.
func fill(file *renameio.PendingFile, write func(io.Writer) error) error {
	buffered := bufio.NewWriterSize(file, 1<<16)
	if err := write(buffered); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	return file.Sync()
}
