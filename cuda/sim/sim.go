// Package sim is a simulated node: it answers through the same cuda.Bundle as
// the real libraries, over host memory and with a virtual clock, as a node
// file describes. Copies really move bytes, timings come from a model, and a
// hang is a call that does not return. The same file and seed give the same
// figures, whatever the order of the specs and also in a process that replaces
// another one.
package sim

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/peerproof/peerproof/internal/files"
)

//go:embed nodes/*.yaml
var embedded embed.FS

// Names are the embedded nodes, sorted.
func Names() []string {
	files, err := fs.Glob(embedded, "nodes/*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(path.Base(f), ".yaml")
	}
	slices.Sort(files) // "a-b.yaml" comes before "a.yaml", but "a" before "a-b"
	return files
}

// maxFile is the size in bytes of the largest node file that is read: many
// times what 256 GPUs with a fault each need. The YAML parser's time grows with
// the square of the size.
const maxFile = 64 << 10

// Load reads an embedded node by its name, else a file. Every error is a
// *FileError.
func Load(nameOrFile string) (*File, error) {
	if data, err := embedded.ReadFile("nodes/" + nameOrFile + ".yaml"); err == nil {
		return Parse(nameOrFile, data)
	}
	data, err := files.Read(nameOrFile, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &FileError{File: nameOrFile, Problem: fmt.Sprintf(
			"no such file, and no embedded node of that name; embedded are %s", strings.Join(Names(), ", "))}
	case err != nil:
		return nil, &FileError{File: nameOrFile, Problem: fmt.Sprintf("cannot be read: %v", files.Cause(err))}
	}
	return Parse(nameOrFile, data)
}

// Text is the YAML that the file was read from: Parse makes the same File of
// it in another process.
func (f *File) Text() string { return f.text }

// FileError says where a node file is wrong, what is wrong and what was
// expected, in words for the file's author.
type FileError struct {
	File         string
	Line, Column int // from 1; 0 where the whole file is meant
	Problem      string
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Problem)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Problem)
}

// defaultName is the name of a node whose file gives none.
func defaultName(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".yml"), ".yaml")
}
