package evidence_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peerproof/peerproof/report/evidence"
	"github.com/peerproof/peerproof/report/internal/sample"
)

// resum writes SHA256SUMS anew.
func resum(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), evidence.SumsFile) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		fmt.Fprintf(&text, "%s  %s\n", hex.EncodeToString(sum[:]), e.Name())
	}
	if err := os.WriteFile(filepath.Join(dir, evidence.SumsFile), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// remake sums and lists the files of a folder again, as a forger would who
// knows all of the format.
func remake(t testing.TB, dir string) {
	t.Helper()
	path := filepath.Join(dir, evidence.ManifestFile)
	m, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(filepath.Join(dir, evidence.SumsFile))
	if err != nil {
		t.Fatal(err)
	}
	text := string(m)
	for line := range strings.Lines(string(old)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || name == evidence.ManifestFile {
			continue
		}
		now := sha256.Sum256(data)
		before := `"sha256": "` + sum + `"`
		at := strings.Index(text, before)
		size := strings.LastIndex(text[:at], `"size": `)
		text = text[:size] + fmt.Sprintf("\"size\": %d,\n      \"sha256\": %q", len(data), hex.EncodeToString(now[:])) + text[at+len(before):]
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	resum(t, dir)
}

func TestForgeriesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		forge func(t *testing.T, dir string)
		want  string
	}{
		"an extra file": {func(t *testing.T, dir string) {
			write(t, dir, "notes.txt", "all is well")
		}, "notes.txt: it is not in SHA256SUMS"},
		"an extra file, listed": {func(t *testing.T, dir string) {
			write(t, dir, "notes.txt", "all is well")
			resum(t, dir)
		}, "manifest.json: it lists other files"},
		"a file less": {func(t *testing.T, dir string) {
			remove(t, dir, "junit.xml")
		}, "junit.xml: it is missing"},
		"a file less, not listed": {func(t *testing.T, dir string) {
			remove(t, dir, "junit.xml")
			resum(t, dir)
		}, "junit.xml: it is missing; expected it, as the journal gives it"},
		"no journal": {func(t *testing.T, dir string) {
			remove(t, dir, "journal.jsonl")
			resum(t, dir)
		}, "journal.jsonl: it is missing"},
		"no manifest": {func(t *testing.T, dir string) {
			remove(t, dir, "manifest.json")
			resum(t, dir)
		}, "manifest.json: it is missing"},
		"no sums": {func(t *testing.T, dir string) {
			remove(t, dir, "SHA256SUMS")
		}, "SHA256SUMS: it is missing"},
		"other results": {func(t *testing.T, dir string) {
			replace(t, dir, "results.json", `"verdict":"pass"`, `"verdict":"fail"`)
			remake(t, dir)
		}, "results.json: it is not what the journal gives"},
		"another inventory": {func(t *testing.T, dir string) {
			replace(t, dir, "node.json", "1650001", "1650009")
			remake(t, dir)
		}, "node.json: it is not what the journal gives"},
		"no Xid": {func(t *testing.T, dir string) {
			write(t, dir, "kernel.txt", "")
			remake(t, dir)
		}, "kernel.txt: it is not what the journal gives"},
		"a line of the journal": {func(t *testing.T, dir string) {
			replace(t, dir, "journal.jsonl", `"pass"`, `"skip"`)
			remake(t, dir)
		}, "journal.jsonl: line"},
		"the end of the journal": {func(t *testing.T, dir string) {
			text := read(t, dir, "journal.jsonl")
			write(t, dir, "journal.jsonl", text[:strings.LastIndex(text[:len(text)-1], "\n")+1])
			remake(t, dir)
		}, "journal.jsonl: it has 10 lines and ends in"},
		"no journal at all": {func(t *testing.T, dir string) {
			write(t, dir, "journal.jsonl", "")
			remake(t, dir)
		}, "expected the journal of a run"},
		"another serial": {func(t *testing.T, dir string) {
			replace(t, dir, "manifest.json", "1650001", "1650009")
			resum(t, dir)
		}, "manifest.json: it tells of another run, of other GPUs"},
		"another selection": {func(t *testing.T, dir string) {
			replace(t, dir, "manifest.json", `"keyword": "inventory/model or transfer",`, `"keyword": "transfer",`)
			resum(t, dir)
		}, "manifest.json: it tells of another run, of other GPUs"},
		"another VBIOS": {func(t *testing.T, dir string) {
			replace(t, dir, "manifest.json", "96.00.15.00.01", "96.00.15.00.02")
			resum(t, dir)
		}, "manifest.json: it tells of another run, of other GPUs"},
		"a finding": {func(t *testing.T, dir string) {
			replace(t, dir, "manifest.json", `"findings": [],`, `"findings": [
    {
      "gpus": [
        "gpu1"
      ],
      "what": "gpu1 is slow",
      "why": "",
      "first": {
        "spec": "",
        "code": "",
        "message": ""
      },
      "specs": 1
    }
  ],`)
			resum(t, dir)
		}, "manifest.json: it tells of another run, of other GPUs or other findings"},
		"a field twice": {func(t *testing.T, dir string) {
			replace(t, dir, "manifest.json", `"version": 1,`, "\"version\": 1,\n  \"version\": 1,")
			resum(t, dir)
		}, "manifest.json: it is not as peerproof writes it"},
		"another version": {func(t *testing.T, dir string) {
			replace(t, dir, "manifest.json", `"version": 1,`, `"version": 2,`)
			resum(t, dir)
		}, "manifest.json: it has version 2; expected 1"},
		"sums with a path": {func(t *testing.T, dir string) {
			replace(t, dir, "SHA256SUMS", "  junit.xml", "  ../junit.xml")
		}, "SHA256SUMS: line 2 is"},
	} {
		t.Run(name, func(t *testing.T) {
			archive, _ := mustPack(t, realRun().String(), nil)
			dir, top := mustUnpack(t, archive)
			c.forge(t, dir)
			if _, said := verified(t, dir, top, check()); !strings.Contains(said, c.want) {
				t.Errorf("said %q, want %q", said, c.want)
			}
		})
	}
	archive, packed := mustPack(t, sample.Broken().String(), nil)
	dir, _ := mustUnpack(t, archive)
	plain := strings.Replace(packed.Name, "SIMULATED-", "", 1)
	if _, said := verified(t, dir, plain, check()); !strings.Contains(said, "archive: its folder is named "+plain) {
		t.Errorf("a simulated run under a real one's name: %q", said)
	}
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func remove(t testing.TB, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func replace(t testing.TB, dir, name, old, with string) {
	t.Helper()
	text := read(t, dir, name)
	if !strings.Contains(text, old) {
		t.Fatalf("%s does not hold %s", name, old)
	}
	write(t, dir, name, strings.Replace(text, old, with, 1))
}

func TestADamagedJournalIsPackedAndRefused(t *testing.T) {
	text := strings.Replace(realRun().String(), `"pass"`, `"skip"`, 1)
	archive, packed := mustPack(t, text, nil)
	if m := packed.Manifest.Journal; m.Verified || m.Problem == "" {
		t.Errorf("%+v", m)
	}
	dir, top := mustUnpack(t, archive)
	if _, said := verified(t, dir, top, check()); !strings.Contains(said, "journal.jsonl: line") {
		t.Errorf("said %q", said)
	}
}
