package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/runner/journal"
)

// finished is the folder of a run without specs, of what the change makes it.
func finished(t *testing.T, change func(*journal.Run)) (dir string, r *report.Results) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := journal.Create(filepath.Join(dir, journalName))
	if err != nil {
		t.Fatal(err)
	}
	run := &journal.Run{ID: "r", Tool: "peerproof", Host: "node17", Preset: "rma"}
	change(run)
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, e := range []journal.Event{
		{Type: journal.TypeRun, Time: at, Run: run}, {Type: journal.TypeFinish, Time: at, Finish: &journal.Finish{Reason: "done", Exit: 1}},
	} {
		if _, err := w.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err = results(dir); err != nil {
		t.Fatal(err)
	}
	return dir, r
}

func TestARunForAVendorPacksItself(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no nvidia-smi
	dir, r := finished(t, func(*journal.Run) {})
	archive, note := packByItself(t.Context(), dir, r)
	want := filepath.Join(filepath.Dir(dir), "peerproof-node17-20260203T040506Z-skip.tar.gz")
	if len(archive) != 1 || archive[0] != want || !strings.Contains(note, "--sign KEY "+dir) || strings.Count(note, "\n") != 1 {
		t.Fatalf("archive %v, note %q", archive, note)
	}
	if _, err := os.Stat(want); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(entries) != 2 {
		t.Errorf("beside the run and its archive: %v, %v", entries, err)
	}
}

func TestARunThatIsNoEvidenceDoesNotPackItself(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		change func(*journal.Run)
		exit   int
		want   string
	}{
		"another preset": {t.Context(), func(r *journal.Run) { r.Preset = "acceptance" }, 1, ""},
		"simulated":      {t.Context(), func(r *journal.Run) { r.Simulated = true }, 1, "the run is SIMULATED. To pack it: peerproof evidence pack --allow-simulated "},
		"loopback":       {t.Context(), func(r *journal.Run) { r.Loopback = true }, 1, "the run is LOOPBACK. To pack it: peerproof evidence pack --allow-loopback "},
		"interrupted":    {stopped, func(*journal.Run) {}, 1, "the run was interrupted. To pack it"},
		"cut off":        {t.Context(), func(*journal.Run) {}, 2, "the run was interrupted"},
		"no GPU":         {t.Context(), func(*journal.Run) {}, 5, "nothing was tested"},
	} {
		dir, r := finished(t, c.change)
		r.Exit = c.exit
		archive, note := packByItself(c.ctx, dir, r)
		if len(archive) > 0 || !strings.Contains(note, c.want) || (note == "") != (c.want == "") || strings.Count(note, "\n") > 1 {
			t.Errorf("%s: archive %v, note %q", name, archive, note)
		}
		if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
			t.Errorf("%s: %v, %v", name, entries, err)
		}
	}
	dir, r := finished(t, func(*journal.Run) {})
	if err := os.Remove(filepath.Join(dir, journalName)); err != nil {
		t.Fatal(err)
	}
	if archive, note := packByItself(t.Context(), dir, r); len(archive) > 0 || !strings.Contains(note, "No evidence was packed: ") {
		t.Errorf("without a journal: archive %v, note %q", archive, note)
	}
}

// No document holds the environment of whoever runs the program.
func TestManifestHasNoEnvironment(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CI_TOKEN", "s3cret")
	dir, r := finished(t, func(*journal.Run) {})
	_, packed, err := pack(t.Context(), dir, r, &packFlags{out: t.TempDir()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(packed.Manifest)
	if err != nil || strings.Contains(string(text), "s3cret") {
		t.Errorf("%s, %v", text, err)
	}
	if packed.Manifest.Binary == "" || packed.Manifest.Tool != tool() || time.Since(packed.Manifest.Created) > time.Hour {
		t.Errorf("%s", text)
	}
}
