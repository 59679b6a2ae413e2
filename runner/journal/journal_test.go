package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/peerproof/peerproof/fixtures/verdict"
)

// write makes a journal of a run event and n notes.
func write(t testing.TB, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, w, append([]Event{{Type: TypeRun, Run: &Run{ID: "r"}}}, notes(n)...))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func notes(n int) []Event {
	var all []Event
	for i := range n {
		all = append(all, Event{Type: TypeNote, Spec: "a/b[gpu0->gpu1]", Text: fmt.Sprint("note ", i)})
	}
	return all
}

func appendAll(t testing.TB, w *Writer, events []Event) {
	t.Helper()
	for _, e := range events {
		if _, err := w.Append(e); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t testing.TB, path string) ([]Event, error) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var events []Event
	err = Scan(bytes.NewReader(data), func(e Event) error {
		events = append(events, e)
		return nil
	})
	return events, err
}

func TestWhatIsAppendedIsScanned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	outcome := verdict.Failf("below-floor", "%s", "10 < 20 & more")
	appendAll(t, w, []Event{
		{Type: TypeRun, Time: at, Run: &Run{ID: "r", Args: []string{"run"}}},
		{Type: TypeEnd, Spec: "bandwidth/write-ce[gpu0->gpu1]", Outcome: &outcome, Seconds: 0.5},
	})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	events, err := read(t, path)
	if err != nil || len(events) != 2 {
		t.Fatalf("%d events, error %v", len(events), err)
	}
	if !events[0].Time.Equal(at) || events[0].Seq != 1 || events[0].Prev != "" {
		t.Errorf("first: %+v", events[0])
	}
	if e := events[1]; *e.Outcome != outcome || e.Time.IsZero() || len(e.Prev) != 64 {
		t.Errorf("second: %+v", e)
	}
	if data, _ := os.ReadFile(path); !bytes.Contains(data, []byte("[gpu0->gpu1]")) {
		t.Errorf("ids are not readable: %s", data)
	}
}

func TestCreateRefusesAnExistingFile(t *testing.T) {
	path := write(t, 0)
	if _, err := Create(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("error %v", err)
	}
}

func TestScanNamesTheBrokenLine(t *testing.T) {
	data, err := os.ReadFile(write(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
	lines[len(lines)-1] += "\n"
	join := func(l ...string) string { return strings.Join(l, "") }
	for name, c := range map[string]struct {
		text string
		line int
	}{
		"changed":     {join(lines[0], strings.Replace(lines[1], "note 0", "note 9", 1), lines[2]), 3},
		"lost":        {join(lines[0], lines[2]), 2},
		"first lost":  {join(lines[1], lines[2]), 1},
		"added":       {join(lines[0], lines[1], lines[1]), 3},
		"no JSON":     {join(lines[0], "hello\n"), 2},
		"empty line":  {join(lines[0], "\n", lines[1]), 2},
		"no run":      {`{"seq":1,"prev":"","type":"note"}` + "\n", 1},
		"wrong type":  {`{"seq":"1"}` + "\n", 1},
		"another run": {join(lines[0], lines[0]), 2},
	} {
		t.Run(name, func(t *testing.T) {
			seen := 0
			err := Scan(strings.NewReader(c.text), func(Event) error { seen++; return nil })
			var broken *BrokenError
			if !errors.As(err, &broken) || broken.Line != c.line {
				t.Fatalf("error %v, want line %d", err, c.line)
			}
			if seen != c.line-1 {
				t.Errorf("%d events before it", seen)
			}
		})
	}
}

func TestATornLineIsToldAndCutOff(t *testing.T) {
	path := write(t, 3)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for _, keep := range []int{last + 1, last + 20, len(whole) - 1} {
		if err := os.WriteFile(path, whole[:keep], 0o600); err != nil {
			t.Fatal(err)
		}
		events, err := read(t, path)
		var torn *TornError
		if !errors.As(err, &torn) || torn.Offset != int64(last) || torn.Line != 4 || len(events) != 3 {
			t.Fatalf("keep %d: %d events, error %v", keep, len(events), err)
		}
		n := 0
		w, err := Resume(path, func(Event) error { n++; return nil })
		if err != nil || n != 3 {
			t.Fatalf("resume: %d events, error %v", n, err)
		}
		appendAll(t, w, notes(2))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if events, err = read(t, path); err != nil || len(events) != 5 {
			t.Fatalf("after resume: %d events, error %v", len(events), err)
		}
	}
}

func TestOneWriterAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, w, []Event{{Type: TypeRun, Run: &Run{}}})
	if _, err := Resume(path, func(Event) error { return nil }); !errors.Is(err, ErrInUse) {
		t.Errorf("error %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w, err = Resume(path, func(Event) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
}

func TestResumeRefusesABrokenJournal(t *testing.T) {
	path := write(t, 2)
	data, _ := os.ReadFile(path)
	broken := bytes.Replace(data, []byte("note 0"), []byte("note 7"), 1)
	if err := os.WriteFile(path, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	var b *BrokenError
	if _, err := Resume(path, func(Event) error { return nil }); !errors.As(err, &b) {
		t.Errorf("error %v", err)
	}
	if now, _ := os.ReadFile(path); !bytes.Equal(now, broken) {
		t.Error("the broken journal was changed")
	}
}

func TestAppendFromManyGoroutinesIsOneChain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, w, []Event{{Type: TypeRun, Run: &Run{}}})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, e := range notes(50) {
				if _, err := w.Append(e); err != nil {
					t.Error(err)
				}
			}
			if err := w.Sync(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if events, err := read(t, path); err != nil || len(events) != 201 {
		t.Errorf("%d events, error %v", len(events), err)
	}
}

func TestAFailedWriteIsNotForgotten(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	w.file.Close()
	_, first := w.Append(Event{Type: TypeRun, Run: &Run{}})
	_, second := w.Append(Event{Type: TypeNote})
	if first == nil || second == nil {
		t.Errorf("errors %v, %v", first, second)
	}
	if w.Close() == nil {
		t.Error("Close forgot the error")
	}
}

func FuzzScan(f *testing.F) {
	data, err := os.ReadFile(write(f, 2))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)-5])
	f.Add([]byte("{}\n"))
	f.Add([]byte("\n\n"))
	f.Add([]byte(`{"seq":1,"type":"run","run":{}}` + "\n\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var last Event
		lines := 0
		err := Scan(bytes.NewReader(data), func(e Event) error {
			if e.Seq != last.Seq+1 || e.Type == "" {
				t.Fatalf("event %+v after %+v", e, last)
			}
			last = e
			lines++
			return nil
		})
		var broken *BrokenError
		var torn *TornError
		switch {
		case err == nil:
			if lines != bytes.Count(data, []byte("\n")) || len(data) > 0 && data[len(data)-1] != '\n' {
				t.Fatalf("%d lines accepted of %q", lines, data)
			}
		case errors.As(err, &broken):
			if broken.Line != lines+1 {
				t.Fatalf("line %d blamed after %d good ones", broken.Line, lines)
			}
		case errors.As(err, &torn):
			if torn.Line != lines+1 || torn.Offset > int64(len(data)) {
				t.Fatalf("torn line %d at %d after %d good ones", torn.Line, torn.Offset, lines)
			}
		default:
			t.Fatalf("error of no known type: %v", err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	w, err := Create(filepath.Join(b.TempDir(), "journal.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	e := Event{Type: TypeStart, Spec: "bandwidth/write-ce[gpu0->gpu1]"}
	for b.Loop() {
		if _, err := w.Append(e); err != nil {
			b.Fatal(err)
		}
	}
}
