package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/peerproof/peerproof/fixtures/verdict"
)

// Number writes a figure in fixed point, with four significant digits where it
// is below 1000 and one decimal where it is above, without trailing zeros.
func Number(v float64) string {
	digits := 1
	if magnitude := math.Abs(v); magnitude > 0 && magnitude < 1000 {
		digits = min(12, 3-int(math.Floor(math.Log10(magnitude))))
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// FigureText writes a figure with its unit, floor and theory on one line:
// "221.4 GB/s (floor 315, theory 450)".
func FigureText(m *verdict.Measurement) string {
	text := Number(m.Value)
	if m.Unit != "" {
		text += " " + Line(m.Unit)
	}
	var against []string
	if m.Floor > 0 {
		against = append(against, "floor "+Number(m.Floor))
	}
	if m.Theoretical > 0 {
		against = append(against, "theory "+Number(m.Theoretical))
	}
	if len(against) > 0 {
		text += " (" + strings.Join(against, ", ") + ")"
	}
	return text
}

// Headline is a spec's outcome on one line: verdict, code, the number that
// decided, message.
func Headline(s *Spec) string {
	text := string(s.Verdict)
	if s.Code != "" {
		text += " " + Line(s.Code)
	}
	if m := s.Figure(); m != nil {
		text += ", " + FigureText(m)
	}
	if message := Line(s.Message); message != "" {
		text += ": " + message
	}
	return text
}

// Marks are the words in capital letters that every document of such a run
// carries: SIMULATED, LOOPBACK, both or none.
func (r *Run) Marks() string {
	var marks []string
	if r.Simulated {
		marks = append(marks, "SIMULATED")
	}
	if r.Loopback {
		marks = append(marks, "LOOPBACK")
	}
	return strings.Join(marks, " ")
}

// again are the flags of a run that decide what a spec meets; the value says
// whether another word follows.
var again = map[string]bool{"--node": true, "--profile": true, "--timeout": true, "--loopback": false}

// Reproduce is the command line that runs one spec of the run again.
func (r *Run) Reproduce(id string) string {
	words := []string{"peerproof", "run"}
	for i := 0; i < len(r.Args); i++ {
		name, _, joined := strings.Cut(r.Args[i], "=")
		value, known := again[name]
		if !known {
			continue
		}
		words = append(words, quote(r.Args[i]))
		if value && !joined && i+1 < len(r.Args) {
			i++
			words = append(words, quote(r.Args[i]))
		}
	}
	return strings.Join(append(words, "-k", quote(id)), " ")
}

// quote makes one word for a shell.
func quote(word string) string {
	word = Line(word)
	plain := word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=/.,:@+%", r)
	})
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
