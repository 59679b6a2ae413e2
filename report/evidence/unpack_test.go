package evidence_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peerproof/peerproof/report/evidence"
)

const top = "peerproof-node17-20260203T040506Z-pass"

// tarball is a tar.gz of entries; each holds its name unless it has a size.
func tarball(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, h := range entries {
		text := []byte(h.Name)
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Typeflag != tar.TypeReg {
			text = nil
		}
		if h.Size > 0 {
			text = make([]byte, h.Size)
		}
		h.Size = int64(len(text))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zip.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// zipped compresses a text.
func zipped(t testing.TB, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zip.Write(text); err != nil || zip.Close() != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func plain(t testing.TB, archive []byte) []byte {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestHostileArchivesAreRefused(t *testing.T) {
	file := tar.Header{Name: top + "/a"}
	good := tarball(t, file)
	var many []tar.Header
	for i := range 20 {
		many = append(many, tar.Header{Name: fmt.Sprintf("%s/f%d", top, i)})
	}
	limits := evidence.Limits{Files: 16, Bytes: 1 << 20, Ratio: 200, Free: 4 << 20}
	tight := evidence.Limits{Files: 16, Bytes: 64 << 20, Ratio: 200, Free: 1 << 20}
	for name, c := range map[string]struct {
		archive []byte
		limits  evidence.Limits
		want    string
	}{
		"empty":               {nil, limits, "expected a tar.gz"},
		"no gzip":             {[]byte("hello, this is no archive"), limits, "expected a tar.gz"},
		"no tar":              {zipped(t, bytes.Repeat([]byte("hello"), 500)), limits, "expected a tar.gz"},
		"nothing in it":       {tarball(t), limits, "it is empty"},
		"only zeros":          {zipped(t, make([]byte, 4<<20)), limits, "expected"},
		"cut off":             {good[:len(good)-12], limits, "expected a tar.gz"},
		"an absolute path":    {tarball(t, tar.Header{Name: "/etc/passwd"}), limits, "expected one folder"},
		"a way out":           {tarball(t, tar.Header{Name: top + "/../a"}), limits, "expected one folder"},
		"a way out at once":   {tarball(t, tar.Header{Name: "../a"}), limits, "expected one folder"},
		"a backslash":         {tarball(t, tar.Header{Name: top + `/..\a`}), limits, "expected one folder"},
		"a folder in it":      {tarball(t, file, tar.Header{Name: top + "/b/c"}), limits, "expected one folder"},
		"a hidden file":       {tarball(t, tar.Header{Name: top + "/.a"}), limits, "expected one folder"},
		"an option":           {tarball(t, tar.Header{Name: top + "/-rf"}), limits, "expected one folder"},
		"two folders":         {tarball(t, file, tar.Header{Name: "peerproof-other/a"}), limits, "expected one folder"},
		"another folder":      {tarball(t, tar.Header{Name: "other/a"}), limits, "expected one folder"},
		"no folder":           {tarball(t, tar.Header{Name: "peerproof-a"}), limits, "expected one folder"},
		"control characters":  {tarball(t, tar.Header{Name: top + "/a\x1b[2J"}), limits, "expected one folder"},
		"a symbolic link":     {tarball(t, tar.Header{Name: top + "/a", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), limits, "expected a plain file"},
		"a hard link":         {tarball(t, file, tar.Header{Name: top + "/b", Typeflag: tar.TypeLink, Linkname: top + "/a"}), limits, "expected a plain file"},
		"a device":            {tarball(t, tar.Header{Name: top + "/a", Typeflag: tar.TypeBlock}), limits, "expected a plain file"},
		"a pipe":              {tarball(t, tar.Header{Name: top + "/a", Typeflag: tar.TypeFifo}), limits, "expected a plain file"},
		"a folder below":      {tarball(t, tar.Header{Name: top + "/a/", Typeflag: tar.TypeDir}), limits, "expected a plain file"},
		"a file twice":        {tarball(t, file, file), limits, "twice"},
		"a file in two cases": {tarball(t, file, tar.Header{Name: top + "/A"}), limits, "twice"},
		"the folder twice":    {tarball(t, tar.Header{Name: top + "/", Typeflag: tar.TypeDir}, tar.Header{Name: top + "/", Typeflag: tar.TypeDir}), limits, "twice"},
		"many files":          {tarball(t, many...), limits, "more than 16 entries"},
		"a huge file":         {tarball(t, tar.Header{Name: top + "/a", Size: 2 << 20}), limits, "more than 1048576 bytes"},
		"two large files":     {tarball(t, tar.Header{Name: top + "/a", Size: 600 << 10}, tar.Header{Name: top + "/b", Size: 600 << 10}), limits, "more than 1048576 bytes"},
		"a bomb":              {tarball(t, tar.Header{Name: top + "/a", Size: 32 << 20}), tight, "which grows less"},
		"a tail":              {append(bytes.Clone(good), 'x'), limits, "something follows its end"},
		"a second archive":    {append(bytes.Clone(good), good...), limits, "something follows its end"},
		"hidden after it":     {zipped(t, append(plain(t, good), "secret"...)), limits, "something follows its last entry"},
		"endless zeros":       {zipped(t, append(plain(t, good), make([]byte, 3<<20)...)), limits, "zeros"},
	} {
		t.Run(name, func(t *testing.T) {
			written := map[string]int{}
			_, err := evidence.Unpack(bytes.NewReader(c.archive), c.limits, func(name string) (io.WriteCloser, error) {
				return sink{name, written}, nil
			})
			var refused *evidence.RefusedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "expected") {
				t.Errorf("error %v, want %s", err, c.want)
			}
			total := 0
			for name, n := range written {
				if total += n; filepath.Base(name) != name || name == ".." {
					t.Errorf("a file named %q was made", name)
				}
			}
			if int64(total) > c.limits.Bytes {
				t.Errorf("%d bytes were written", total)
			}
		})
	}
	if _, err := evidence.Unpack(bytes.NewReader(good), limits, func(string) (io.WriteCloser, error) { return nothingToClose{io.Discard}, nil }); err != nil {
		t.Errorf("a good one: %v", err)
	}
	full := errors.New("the disk is full")
	if _, err := evidence.Unpack(bytes.NewReader(good), limits, func(string) (io.WriteCloser, error) { return nil, full }); !errors.Is(err, full) {
		t.Errorf("error %v, want that of the taker", err)
	}
}

// sink counts what is written to each file.
type sink struct {
	name    string
	written map[string]int
}

func (s sink) Write(p []byte) (int, error) {
	s.written[s.name] += len(p)
	return len(p), nil
}

func (sink) Close() error { return nil }

func FuzzUnpack(f *testing.F) {
	f.Add(plain(f, tarball(f, tar.Header{Name: top + "/", Typeflag: tar.TypeDir}, tar.Header{Name: top + "/a"})))
	f.Add(plain(f, tarball(f, tar.Header{Name: top + "/a", Typeflag: tar.TypeSymlink, Linkname: "x"})))
	f.Add(plain(f, tarball(f, tar.Header{Name: strings.Repeat("long/", 60) + "a"})))
	limits := evidence.Limits{Files: 8, Bytes: 1 << 16, Ratio: 200, Free: 1 << 20}
	f.Fuzz(func(t *testing.T, text []byte) {
		written := map[string]int{}
		top, err := evidence.Unpack(bytes.NewReader(zipped(t, text)), limits, func(name string) (io.WriteCloser, error) {
			if _, twice := written[name]; twice || filepath.Base(name) != name || strings.HasPrefix(name, ".") {
				t.Errorf("a file named %q", name)
			}
			written[name] = 0
			return sink{name, written}, nil
		})
		total := 0
		for _, n := range written {
			total += n
		}
		if int64(total) > limits.Bytes || len(written) > limits.Files {
			t.Errorf("%d bytes in %d files", total, len(written))
		}
		var refused *evidence.RefusedError
		if err != nil && !errors.As(err, &refused) || err == nil && !strings.HasPrefix(top, "peerproof-") {
			t.Errorf("top %q, error %v", top, err)
		}
	})
}

// FuzzUnpackRaw fuzzes what is before gzip.
func FuzzUnpackRaw(f *testing.F) {
	f.Add(tarball(f, tar.Header{Name: top + "/a"}))
	f.Add([]byte{0x1f, 0x8b})
	limits := evidence.Limits{Files: 8, Bytes: 1 << 16, Ratio: 200, Free: 1 << 20}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := evidence.Unpack(bytes.NewReader(data), limits, func(string) (io.WriteCloser, error) {
			return nothingToClose{io.Discard}, nil
		})
		var refused *evidence.RefusedError
		if err != nil && !errors.As(err, &refused) {
			t.Errorf("error of no known kind: %v", err)
		}
	})
}
