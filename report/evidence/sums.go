package evidence

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// nameForm is what a file of an archive may be called: nothing that leaves its
// folder, hides, or means something else to another system's tools.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// formatSums writes SHA256SUMS, as sha256sum does.
func formatSums(files []File) []byte {
	var text strings.Builder
	for _, f := range files {
		fmt.Fprintf(&text, "%s  %s\n", f.SHA256, f.Name)
	}
	return []byte(text.String())
}

// parseSums reads SHA256SUMS in the form of formatSums: the sum of each name.
func parseSums(text string) (map[string]string, error) {
	sums := map[string]string{}
	at := 0
	for line := range strings.Lines(text) {
		at++
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if raw, err := hex.DecodeString(sum); !ok || err != nil || len(raw) != 32 || strings.ToLower(sum) != sum ||
			!nameForm.MatchString(name) || !strings.HasSuffix(line, "\n") {
			return nil, fmt.Errorf("line %d is %.120q; expected a SHA-256 in hex, two spaces and the name of a file", at, line)
		}
		if _, twice := sums[name]; twice {
			return nil, fmt.Errorf("line %d names %s a second time; expected each file once", at, name)
		}
		sums[name] = sum
	}
	return sums, nil
}
