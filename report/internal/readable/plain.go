package readable

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Plain says where a document has a character that steers a terminal, changes
// the direction of writing, ends a line unseen, or is none.
func Plain(text []byte) error {
	for i := 0; i < len(text); {
		if c := text[i]; c >= ' ' && c < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		bad := r == utf8.RuneError && n == 1 ||
			unicode.IsControl(r) && r != '\n' && r != '\t' ||
			unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' || r == '\ufffe' || r == '\uffff'
		if bad {
			return fmt.Errorf("raw character %U at byte %d: %q", r, i, text[max(0, i-40):min(len(text), i+40)])
		}
		i += n
	}
	return nil
}
