// Package terminal shows a run to a person: what runs now, each failure as
// soon as it is known, and a summary at the end. Text that comes from a node
// is cleaned before it is shown, so that it cannot steer the terminal.
package terminal

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

// Level is how much is shown while a run is under way.
type Level int

// The three levels: -q, neither, -v.
const (
	Quiet   Level = iota - 1 // the summary alone
	Normal                   // a status line, or a line a check
	Verbose                  // a line a spec
)

// Options say what kind of output there is.
type Options struct {
	TTY   bool // lines may be drawn again
	Color bool
	Width int // columns; 0 is 80
	Level Level

	// List are the verdicts whose specs have a line each in the summary.
	List []verdict.Verdict
	// Durations is how many of the slowest specs the summary names; negative
	// is all.
	Durations int
}

// minWidth is the narrowest output that is made.
const minWidth = 40

// Detect looks at a file and the environment. NO_COLOR takes the colours away,
// TERM=dumb also all that draws a line again; COLUMNS goes before the width of
// the terminal, and 80 is the width of what is no terminal.
func Detect(file *os.File, getenv func(string) string) Options {
	o := Options{Width: 80}
	fd := int(file.Fd())
	terminal := term.IsTerminal(fd)
	if width, _, err := term.GetSize(fd); terminal && err == nil && width > 0 {
		o.Width = max(minWidth, width)
	}
	if columns, err := strconv.Atoi(getenv("COLUMNS")); err == nil && columns > 0 {
		o.Width = max(minWidth, columns)
	}
	o.TTY = terminal && getenv("TERM") != "dumb"
	o.Color = o.TTY && getenv("NO_COLOR") == ""
	return o
}

func (o Options) width() int {
	if o.Width <= 0 {
		return 80
	}
	return o.Width
}

// The colours in use, as terminals number them. Every coloured word says the
// same without its colour.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	bold   = "1"
)

func (o Options) paint(style, text string) string {
	if !o.Color || style == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// style is the colour of a verdict.
func style(v verdict.Verdict) string {
	switch v {
	case verdict.Fail:
		return red
	case verdict.Error, verdict.Waived:
		return yellow
	case verdict.Pass:
		return green
	default:
		return ""
	}
}

// word is a verdict in capital letters, six columns wide.
func (o Options) word(v verdict.Verdict) string {
	text := strings.ToUpper(report.Line(string(v)))
	return o.paint(style(v), text) + strings.Repeat(" ", max(0, 6-len(text)))
}

// banner is a line with text in its middle, as wide as the output.
func (o Options) banner(text string) string {
	text = report.Line(text)
	if text != "" {
		text = " " + fit(text, o.width()-6) + " "
	}
	fill := max(0, o.width()-len([]rune(text)))
	return o.paint(bold, strings.Repeat("=", fill/2)+text+strings.Repeat("=", fill-fill/2)) + "\n"
}

// fit shortens one line to so many columns.
func fit(text string, columns int) string {
	runes := []rune(text)
	if len(runes) <= columns {
		return text
	}
	return string(runes[:max(0, columns-1)]) + "…"
}

// maxParagraph bounds what is shown of one text; the reports have it whole.
const maxParagraph = 2000

// wrap breaks text at spaces so that no line is wider than width. The first
// line begins with first, the others with as many spaces as indent. Lines of
// the text stay lines.
func wrap(first string, indent, width int, text string) string {
	var b strings.Builder
	b.WriteString(first)
	column, begun := len([]rune(first)), false
	newline := func() {
		b.WriteByte('\n')
		b.WriteString(strings.Repeat(" ", indent))
		column, begun = indent, false
	}
	text = report.Cut(report.Plain(text), maxParagraph, " … (see the reports)")
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if i > 0 {
			newline()
		}
		for _, word := range strings.Fields(line) {
			runes := []rune(word)
			if begun && column+1+len(runes) > width {
				newline()
			}
			if begun {
				b.WriteByte(' ')
				column++
			}
			for len(runes) > width-column && width-indent > 0 {
				n := max(0, width-column)
				b.WriteString(string(runes[:n]))
				runes = runes[n:]
				newline()
			}
			b.WriteString(string(runes))
			column, begun = column+len(runes), true
		}
	}
	return b.String() + "\n"
}
