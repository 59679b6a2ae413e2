package report

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// styled is a sequence that steers a terminal, as ECMA-48 forms it.
var styled = regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]")

// Plain makes text from a node or a driver safe to show: colours, control
// characters and marks that change the direction of writing are removed, tabs
// become spaces, bytes that are no UTF-8 and characters that XML forbids become
// U+FFFD. Lines stay.
func Plain(text string) string {
	if strings.ContainsRune(text, '\x1b') {
		text = styled.ReplaceAllString(text, "")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			return -1
		case r == 0xFFFE, r == 0xFFFF:
			return utf8.RuneError
		}
		return r // strings.Map has made invalid bytes U+FFFD
	}, text)
}

// Line is Plain on one line.
func Line(text string) string {
	return strings.Join(strings.Fields(Plain(text)), " ")
}

// Cut shortens text to at most max bytes, between two characters, and says
// where the rest is. It returns text unchanged where that is short enough.
func Cut(text string, limit int, rest string) string {
	if len(text) <= limit {
		return text
	}
	end := max(0, limit-len(rest))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + rest
}
