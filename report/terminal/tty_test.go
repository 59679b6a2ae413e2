package terminal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peerproof/peerproof/internal/pty"
	"github.com/peerproof/peerproof/report/internal/sample"
)

// terminalOf is a pseudo-terminal to write to.
func terminalOf(t *testing.T, columns int) *os.File {
	t.Helper()
	screen, terminal, err := pty.Open(columns)
	if err != nil {
		t.Skip("this machine gives no pseudo-terminal:", err)
	}
	t.Cleanup(func() {
		terminal.Close()
		screen.Close()
	})
	return terminal
}

func TestDetect(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	wide, unknown, tiny := terminalOf(t, 132), terminalOf(t, 0), terminalOf(t, 20)
	for _, c := range []struct {
		name string
		out  *os.File
		env  string
		want Options
	}{
		{"a file", file, "", Options{Width: 80}},
		{"a file with COLUMNS", file, "COLUMNS=100", Options{Width: 100}},
		{"a terminal", wide, "", Options{TTY: true, Color: true, Width: 132}},
		{"no colours", wide, "NO_COLOR=1", Options{TTY: true, Width: 132}},
		{"a dumb terminal", wide, "TERM=dumb", Options{Width: 132}},
		{"COLUMNS goes first", wide, "COLUMNS=90", Options{TTY: true, Color: true, Width: 90}},
		{"COLUMNS that is no number", wide, "COLUMNS=wide", Options{TTY: true, Color: true, Width: 132}},
		{"COLUMNS below zero", wide, "COLUMNS=-3", Options{TTY: true, Color: true, Width: 132}},
		{"a terminal that does not know its width", unknown, "", Options{TTY: true, Color: true, Width: 80}},
		{"a tiny one", tiny, "", Options{TTY: true, Color: true, Width: 40}},
	} {
		got := Detect(c.out, func(name string) string {
			value, _ := strings.CutPrefix(c.env, name+"=")
			if value == c.env {
				return ""
			}
			return value
		})
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// screen is what a terminal shows after it was sent some output: a parser of
// its own for the few sequences that the display may use.
func screen(t *testing.T, text string) []string {
	t.Helper()
	lines, line, column := []string{}, []rune{}, 0
	for text != "" {
		switch {
		case strings.HasPrefix(text, "\x1b[K"):
			line = line[:column]
			text = text[3:]
			continue
		case text[0] == '\x1b':
			end := strings.IndexByte(text, 'm')
			if end < 0 || end > 5 {
				t.Fatalf("unknown sequence %q", text[:min(len(text), 10)])
			}
			text = text[end+1:]
			continue
		}
		r := []rune(text)[0]
		text = text[len(string(r)):]
		switch r {
		case '\n':
			lines, line, column = append(lines, string(line)), nil, 0
		case '\r':
			column = 0
		default:
			line = append(line[:column], r)
			column++
		}
	}
	return append(lines, string(line))
}

// What stays on a terminal is what a log has, but for its lines of progress:
// no bar and no piece of one is left.
func TestNothingOfTheBarStays(t *testing.T) {
	events := sample.Broken().Events()
	sent := show(events, Options{TTY: true, Color: true})
	if n := strings.Count(sent, "[#"); n < 10 {
		t.Errorf("a bar is drawn %d times", n)
	}
	got := strings.Join(screen(t, sent), "\n")
	for _, rest := range []string{"[#", "[.", "0:0", "between specs"} {
		if strings.Contains(got, rest) {
			t.Errorf("%q stays:\n%s", rest, got)
		}
	}
	if !strings.Contains(got, "\nFAIL   inventory/model[gpu2] wrong-model") {
		t.Errorf("the failures do not stay:\n%s", got)
	}
	log := show(events, Options{})
	if strings.ContainsAny(log, "\x1b\r") || bytes.Contains([]byte(log), []byte("[#")) {
		t.Errorf("a log has a bar:\n%s", log)
	}
}
