package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// WriteJSON writes fleet.json. Characters that could steer a terminal or turn
// the direction of writing around are escaped, so that the file is safe to look
// at; a parser gets them as they are.
func WriteJSON(w io.Writer, r *Report) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // an id holds "->", and people grep for it
	enc.SetIndent("", " ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("encode fleet.json: %w", err)
	}
	var out strings.Builder
	for _, c := range buf.String() {
		// Outside of strings, JSON has none of these but the encoder's newlines.
		if c != '\n' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c)) && c < 0x10000 {
			fmt.Fprintf(&out, `\u%04x`, c)
			continue
		}
		out.WriteRune(c)
	}
	_, err := io.WriteString(w, out.String())
	return err
}
