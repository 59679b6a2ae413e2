package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Signer is a line of an allowed signers file: who a key may speak for. See
// ssh-keygen(1), ALLOWED SIGNERS.
type Signer struct {
	principals  []string // patterns with * and ?, one with ! excludes
	namespaces  []string // likewise; none: every one
	after       time.Time
	before      time.Time // zero: for ever
	authority   bool      // it vouches for certificates, which are not taken here
	key         []byte    // as the ssh wire format has it
	description string
}

// ParseSigners reads an allowed signers file. An error names the line.
func ParseSigners(text []byte) ([]Signer, error) {
	signers := []Signer{}
	at := 0
	for line := range bytes.Lines(text) {
		at++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		s, err := parseSigner(string(line))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w; expected principals, options and a public key as ssh-keygen's allowed signers have them", at, err)
		}
		signers = append(signers, s)
	}
	if len(signers) == 0 {
		return nil, errors.New("it names nobody; expected lines of principals and a public key")
	}
	return signers, nil
}

func parseSigner(line string) (Signer, error) {
	var s Signer
	principals, rest, err := field(line)
	if err != nil {
		return s, err
	}
	s.principals = strings.Split(principals, ",")
	key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(rest))
	if err != nil {
		return s, errors.New("it holds no public key")
	}
	s.key, s.description = key.Marshal(), fingerprint(key)
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		value = strings.Trim(value, `"`)
		switch strings.ToLower(name) {
		case "cert-authority":
			s.authority = true
		case "namespaces":
			s.namespaces = strings.Split(value, ",")
		case "valid-after":
			s.after, err = parseTime(value)
		case "valid-before":
			s.before, err = parseTime(value)
		default:
			err = fmt.Errorf("it has the option %.40q, which is not known", name)
		}
		if err != nil {
			return s, err
		}
	}
	return s, nil
}

// field splits off the first field, which may be quoted.
func field(line string) (first, rest string, err error) {
	if !strings.HasPrefix(line, `"`) {
		if i := strings.IndexAny(line, " \t"); i > 0 {
			return line[:i], strings.TrimSpace(line[i:]), nil
		}
		return "", "", errors.New("it has one field")
	}
	first, rest, ok := strings.Cut(line[1:], `"`)
	if !ok || first == "" {
		return "", "", errors.New("its quotes do not end, or hold nothing")
	}
	return first, strings.TrimSpace(rest), nil
}

// parseTime reads a time of ssh-keygen's: YYYYMMDD or YYYYMMDDHHMM[SS], in
// local time or, with Z, in UTC.
func parseTime(text string) (time.Time, error) {
	digits, utc := strings.CutSuffix(text, "Z")
	zone := time.Local
	if utc {
		zone = time.UTC
	}
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(layout) == len(digits) {
			if t, err := time.ParseInLocation(layout, digits, zone); err == nil {
				return t, nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is no time", text)
}

// vouching are the principals of the signers that a key may speak for: those
// that identity matches, or all where it is "". Where there are none, why says
// what was closest.
func vouching(signers []Signer, key ssh.PublicKey, identity string, now time.Time) (who []string, why string) {
	why = "none of the signers has it"
	raw := key.Marshal()
	for i := range signers {
		s := &signers[i]
		if !bytes.Equal(s.key, raw) {
			continue
		}
		switch {
		case s.authority:
			why = "it is listed as an authority for certificates alone"
		case len(s.namespaces) > 0 && !match(s.namespaces, Namespace):
			why = "it may not sign for the namespace " + Namespace
		case !s.after.IsZero() && now.Before(s.after):
			why = "it is valid from " + s.after.UTC().Format(time.RFC3339) + " on"
		case !s.before.IsZero() && !now.Before(s.before):
			why = "it was valid until " + s.before.UTC().Format(time.RFC3339)
		case identity == "":
			who = append(who, strings.Join(s.principals, ","))
		case match(s.principals, identity):
			return []string{identity}, ""
		default:
			why = "it is that of " + strings.Join(s.principals, ",") + ", not of " + identity
		}
	}
	return who, why
}

// match says that a text matches a pattern, and none with an exclamation mark.
func match(patterns []string, text string) bool {
	found := false
	for _, p := range patterns {
		negated, ok := strings.CutPrefix(p, "!")
		if ok && wildcard(negated, text) {
			return false
		}
		found = found || !ok && wildcard(p, text)
	}
	return found
}

// wildcard matches a pattern in which * stands for any text and ? for one byte.
func wildcard(pattern, text string) bool {
	// at[i]: the pattern so far matches text[:i].
	at := make([]bool, len(text)+1)
	at[0] = true
	for _, c := range []byte(pattern) {
		next := make([]bool, len(text)+1)
		if c == '*' {
			if i := slices.Index(at, true); i >= 0 {
				for ; i <= len(text); i++ {
					next[i] = true
				}
			}
		} else {
			for i := range len(text) {
				next[i+1] = at[i] && (c == '?' || c == text[i])
			}
		}
		at = next
	}
	return at[len(text)]
}
