package evidence

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// listFiles measures the named files of a folder, sorted by name.
func listFiles(dir string, names []string) ([]File, error) {
	var files []File
	for _, name := range slices.Sorted(slices.Values(names)) {
		f, err := measure(os.DirFS(dir), name)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// measure reads a file for its size and hash.
func measure(dir fs.FS, name string) (File, error) {
	file, err := dir.Open(name)
	if err != nil {
		return File{}, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	sum := sha256.New()
	n, err := io.Copy(sum, file)
	return File{Name: name, Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))}, err
}

// maxCollected bounds what is read from the machine, in bytes.
const maxCollected = 512 << 20

// zipped ends the name of a file that is packed compressed.
const zipped = ".gz"

// collected packs a file that was read from the machine.
func (p *packer) collected(name, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	if p.redactor == nil {
		return p.write(name, func(w io.Writer) error { return copyAll(w, file) })
	}
	if !strings.HasSuffix(name, zipped) {
		return p.write(name, func(w io.Writer) error { return p.redactor.lines(w, file) })
	}
	plain, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	return p.write(name, func(w io.Writer) error {
		again := gzip.NewWriter(w)
		return errors.Join(p.redactor.lines(again, plain), again.Close())
	})
}

// lines redacts a text line by line.
func (r *redactor) lines(w io.Writer, text io.Reader) error {
	in := bufio.NewReader(io.LimitReader(text, maxCollected+1))
	for total := 0; ; {
		line, err := in.ReadString('\n')
		if total += len(line); total > maxCollected {
			return fmt.Errorf("it has more than %d bytes", maxCollected)
		}
		if _, e := io.WriteString(w, r.text(line)); e != nil {
			return e
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// left is the first secret that is still in a file, in any case; "" if none.
func (r *redactor) left(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it was only read
	var text io.Reader = file
	if strings.HasSuffix(filepath.Base(path), zipped) {
		if text, err = gzip.NewReader(file); err != nil {
			return "", err
		}
	}
	for in := bufio.NewReader(text); ; {
		line, err := in.ReadString('\n')
		if found := r.foundIn(strings.ToLower(line)); found != "" || errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return "", err
		}
	}
}
