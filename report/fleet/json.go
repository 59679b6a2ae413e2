package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/peerproof/peerproof/fixtures/jsontext"
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
	_, err := w.Write(jsontext.Escape(buf.Bytes()))
	return err
}
