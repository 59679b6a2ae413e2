package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peerproof/peerproof/runner/journal"
)

// written is a journal of a run and so many notes.
func written(t *testing.T, notes int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w, err := journal.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	events := []journal.Event{{Type: journal.TypeRun, Run: &journal.Run{ID: "r"}}}
	for i := range notes {
		events = append(events, journal.Event{Type: journal.TypeNote, Text: fmt.Sprint(i)})
	}
	for _, e := range events {
		if _, err := w.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// recovered is what Recover makes of a text: the notes, and the lines that it
// called broken.
func recovered(text string) (notes []string, broken []int, err error) {
	err = journal.Recover(strings.NewReader(text), func(e journal.Event) error {
		if e.Type == journal.TypeNote {
			notes = append(notes, e.Text)
		}
		return nil
	}, func(e *journal.BrokenError) { broken = append(broken, e.Line) })
	return notes, broken, err
}

func TestRecoverReadsAllInOrder(t *testing.T) {
	const n = 2000 // several pieces
	notes, broken, err := recovered(written(t, n))
	if err != nil || len(broken) > 0 || len(notes) != n {
		t.Fatalf("%d notes, broken %v, %v", len(notes), broken, err)
	}
	for i, text := range notes {
		if text != fmt.Sprint(i) {
			t.Fatalf("note %d is %s", i, text)
		}
	}
}

func TestRecoverGoesOnPastDamage(t *testing.T) {
	lines := strings.SplitAfter(written(t, 600), "\n")
	join := func(parts ...[]string) string {
		var all []string
		for _, p := range parts {
			all = append(all, p...)
		}
		return strings.Join(all, "")
	}
	changed := append([]string{}, lines...)
	changed[300] = strings.Replace(changed[300], `"text":"`, `"text":"x`, 1)
	for _, c := range []struct {
		name, text string
		notes      int
		broken     []int
	}{
		{"a line changed", join(changed), 600, []int{302}}, // the one after it tells
		{"a line lost", join(lines[:300], lines[301:]), 599, []int{301}},
		{"a line twice", join(lines[:301], lines[300:]), 601, []int{302}},
		{"no event", join(lines[:300], []string{"{}\n"}, lines[301:]), 599, []int{301, 302}},
		{"no JSON", join(lines[:300], []string{"\x00\n"}, lines[301:]), 599, []int{301, 302}},
		{"no beginning", join(lines[1:]), 600, []int{1}},
	} {
		notes, broken, err := recovered(c.text)
		if err != nil || len(notes) != c.notes || fmt.Sprint(broken) != fmt.Sprint(c.broken) {
			t.Errorf("%s: %d notes, broken %v, %v; want %d, %v", c.name, len(notes), broken, err, c.notes, c.broken)
		}
	}
}

func TestRecoverOfATornLine(t *testing.T) {
	text := written(t, 600)
	notes, broken, err := recovered(text[:len(text)-10])
	var torn *journal.TornError
	if !errors.As(err, &torn) || torn.Line != 601 || len(notes) != 599 || len(broken) > 0 {
		t.Errorf("%d notes, broken %v, %v", len(notes), broken, err)
	}
}

func TestRecoverStopsWhereItIsTold(t *testing.T) {
	enough := errors.New("enough")
	calls := 0
	err := journal.Recover(strings.NewReader(written(t, 2000)), func(journal.Event) error {
		if calls++; calls == 10 {
			return enough
		}
		return nil
	}, nil)
	if !errors.Is(err, enough) || calls != 10 {
		t.Errorf("%d calls, %v", calls, err)
	}
}
