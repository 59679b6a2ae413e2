package files_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/peerproof/peerproof/internal/files"
)

// With a plain open, the pipe's row would never end.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plain"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "plain", "zero": "/dev/zero", "away": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]error{
		"plain": nil, "link": nil, "pipe": files.ErrNotRegular, "zero": files.ErrNotRegular, ".": files.ErrNotRegular,
		"away": fs.ErrNotExist, "none": fs.ErrNotExist,
	} {
		file, err := files.Open(filepath.Join(dir, name))
		if !errors.Is(err, want) {
			t.Errorf("Open %s: %v, want %v", name, err, want)
		}
		in, errIn := files.OpenIn(os.DirFS(dir), name)
		if !errors.Is(errIn, want) {
			t.Errorf("OpenIn %s: %v, want %v", name, errIn, want)
		}
		data, errRead := files.Read(filepath.Join(dir, name), 4)
		if !errors.Is(errRead, want) || want == nil && string(data) != "text" {
			t.Errorf("Read %s: %q, %v, want %v", name, data, errRead, want)
		}
		if err == nil && errIn == nil {
			if err := errors.Join(file.Close(), in.Close()); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := files.Read(filepath.Join(dir, "plain"), 3); err == nil || !strings.Contains(err.Error(), "more than the 3 bytes") {
		t.Errorf("a large file: %v", err)
	}
}

func TestCause(t *testing.T) {
	_, path := os.Open("/no/such")
	link := os.Rename("/no/such", "/no/where")
	other := errors.New("other")
	for _, c := range []struct{ in, want error }{{path, syscall.ENOENT}, {link, syscall.ENOENT}, {other, other}} {
		if got := files.Cause(c.in); got.Error() != c.want.Error() {
			t.Errorf("cause of %v: %v, want %v", c.in, got, c.want)
		}
	}
}
