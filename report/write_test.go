package report_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peerproof/peerproof/report"
)

// Of documents that belong together none is new where one cannot be written.
func TestWriteFiles(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := io.WriteString(w, s)
			return err
		}
	}
	full := errors.New("no space left")
	have := func(want string) {
		t.Helper()
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e.Name()+" "+string(data))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("there is %v, want %s", got, want)
		}
	}
	if err := report.WriteFiles(report.File{Path: one, Write: text("old")}, report.File{Path: two, Write: text("old")}); err != nil {
		t.Fatal(err)
	}
	have("one old, two old")
	err := report.WriteFiles(report.File{Path: one, Write: text("new")}, report.File{Path: two, Write: func(io.Writer) error { return full }})
	if !errors.Is(err, full) || !strings.HasPrefix(err.Error(), two+": ") {
		t.Errorf("%v", err)
	}
	have("one old, two old")
	if err := report.WriteFile(one, text("new")); err != nil {
		t.Fatal(err)
	}
	have("one new, two old")
}
