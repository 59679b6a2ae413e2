package evidence

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Limits bound what Unpack takes.
type Limits struct {
	Files int   // entries
	Bytes int64 // of all files together
	// Ratio is how many bytes one of the compressed file may become, beyond the
	// first Free bytes. A journal, with a hash in every line, has 5; gzip can
	// reach 1000.
	Ratio int64
	Free  int64
}

// DefaultLimits have room for the archive of a rack.
var DefaultLimits = Limits{Files: 64, Bytes: 4 << 30, Ratio: 200, Free: 64 << 20}

// RefusedError says why an archive is not accepted: which part of it, what is
// wrong there and what was expected.
type RefusedError struct {
	Part string // a file of the archive, or "archive"
	What string
}

func (e *RefusedError) Error() string { return e.Part + ": " + e.What }

func refuse(part, format string, args ...any) *RefusedError {
	return &RefusedError{part, fmt.Sprintf(format, args...)}
}

// counter counts what was read.
type counter struct {
	io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// bounded ends the reading of what becomes too much.
type bounded struct {
	out    io.Reader // uncompressed
	in     *counter  // compressed
	n      int64
	limits Limits
}

// overhead is what tar may need beyond the files, for an entry.
const overhead = 64 << 10

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.out.Read(p)
	b.n += int64(n)
	switch {
	case b.n > b.limits.Bytes+overhead*int64(b.limits.Files+1):
		return 0, refuse("archive", "it becomes more than %d bytes; expected no more", b.limits.Bytes)
	case b.n > b.limits.Free+b.limits.Ratio*b.in.n:
		return 0, refuse("archive", "%d bytes of it become more than %d; expected an evidence archive, which grows less", b.in.n, b.n)
	}
	return n, err
}

// Unpack reads an archive and hands each file of it to create, with its name in
// the archive's one folder, whose name it returns. It takes what Pack writes:
// plain files directly in one folder, each once, and nothing after them. For
// everything else it returns a *RefusedError; other errors are create's and the
// reader's.
func Unpack(r io.Reader, limits Limits, create func(name string) (io.WriteCloser, error)) (top string, err error) {
	in := &counter{Reader: r}
	compressed := bufio.NewReader(in) // an io.ByteReader, so that gzip reads no further than it must
	zip, err := gzip.NewReader(compressed)
	if err != nil {
		return "", malformed(err)
	}
	zip.Multistream(false)
	plain := &bounded{out: zip, in: in, limits: limits}
	u := unpacker{limits: limits, create: create, seen: map[string]bool{}}
	if err := u.all(tar.NewReader(plain)); err != nil {
		return "", malformed(err)
	}
	if err := onlyZeros(plain); err != nil {
		return "", malformed(err)
	}
	if _, err := compressed.ReadByte(); !errors.Is(err, io.EOF) {
		return "", refuse("archive", "something follows its end; expected nothing")
	}
	return u.top, nil
}

// malformed turns what gzip and tar say of a damaged file into a refusal.
func malformed(err error) error {
	var refused *RefusedError
	var own *createError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &own):
		return own.error
	}
	return refuse("archive", "%v; expected a tar.gz, whole and as peerproof evidence pack writes it", err)
}

// createError is an error of whoever takes the files.
type createError struct{ error }

// unpacker takes the entries of one archive.
type unpacker struct {
	limits Limits
	create func(string) (io.WriteCloser, error)
	top    string
	seen   map[string]bool // names in lower case: some systems know no other
	bytes  int64
}

func (u *unpacker) all(r *tar.Reader) error {
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			if u.top == "" {
				return refuse("archive", "it is empty; expected a folder of files")
			}
			return nil
		}
		if err != nil {
			return err
		}
		if err := u.entry(h, r); err != nil {
			return err
		}
	}
}

func (u *unpacker) entry(h *tar.Header, r io.Reader) error {
	top, name, _ := strings.Cut(h.Name, "/")
	if u.top == "" {
		u.top = top
	}
	switch {
	case top != u.top || !topForm.MatchString(top):
		return refuse("archive", "it holds %.200q; expected one folder, and files directly in it", h.Name)
	case h.Typeflag == tar.TypeDir && name == "":
	case h.Typeflag != tar.TypeReg:
		return refuse("archive", "%.200q is of tar's type %q; expected a plain file, no link, device or folder", h.Name, h.Typeflag)
	case !nameForm.MatchString(name):
		return refuse("archive", "it holds %.200q; expected one folder, and files directly in it", h.Name)
	}
	if len(u.seen) >= u.limits.Files {
		return refuse("archive", "it holds more than %d entries; expected fewer", u.limits.Files)
	}
	if u.seen[strings.ToLower(name)] {
		return refuse("archive", "it holds %.200q twice; expected each file once", h.Name)
	}
	u.seen[strings.ToLower(name)] = true
	if name == "" {
		return nil
	}
	if u.bytes += h.Size; h.Size < 0 || u.bytes > u.limits.Bytes {
		return refuse(name, "with it the files have more than %d bytes; expected fewer", u.limits.Bytes)
	}
	w, err := u.create(name)
	if err != nil {
		return &createError{err}
	}
	_, err = io.Copy(taken{w}, r)
	if e := w.Close(); err == nil && e != nil {
		err = &createError{e}
	}
	return err
}

// topForm is what the archive's folder may be called.
var topForm = regexp.MustCompile(`^peerproof-[A-Za-z0-9._-]{1,139}$`)

// taken marks the errors of whoever takes a file.
type taken struct{ io.Writer }

func (t taken) Write(p []byte) (int, error) {
	n, err := t.Writer.Write(p)
	if err != nil {
		err = &createError{err}
	}
	return n, err
}

// maxPadding bounds the zeros after the last entry; tar pads to 10 KiB.
const maxPadding = 1 << 20

func onlyZeros(r io.Reader) error {
	buf := make([]byte, 4<<10)
	for total := 0; total <= maxPadding; {
		n, err := r.Read(buf)
		for _, b := range buf[:n] {
			if b != 0 {
				return refuse("archive", "something follows its last entry; expected nothing")
			}
		}
		total += n
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return refuse("archive", "it ends in more than %d zeros; expected its end", maxPadding)
}
