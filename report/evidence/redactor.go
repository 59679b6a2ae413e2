package evidence

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// redactor replaces what names a site, a machine or a person by tokens, the
// same one for the same text wherever it stands. Tokens are numbered as they
// come: they say nothing of what they stand for.
type redactor struct {
	// names are known ones, as a pattern that finds the longest first; words are
	// those that count only where they stand alone; marks are serials and UUIDs.
	names, words, marks *regexp.Regexp
	short               *regexp.Regexp    // of the words, those that may occur nowhere
	tokens              map[string]string // by the text in lower case
	counts              map[string]int    // of tokens, by kind
	secrets             []string          // in lower case: what may occur nowhere
}

// secret is a name that is to be replaced.
type secret struct {
	kind, text string
	how        int
}

// Where a secret is replaced.
const (
	anywhere = iota // in texts
	asWord          // in texts, where it is a word of its own
	asName          // that, and it may be left nowhere else
	inMarks         // in texts and in fields of a fixed form
)

// newRedactor knows the secrets from the beginning; addresses it finds itself.
func newRedactor(secrets []secret) *redactor {
	r := &redactor{tokens: map[string]string{}, counts: map[string]int{}}
	var names, words, short, marks []string
	for _, s := range secrets {
		key := strings.ToLower(s.text)
		if _, known := r.tokens[key]; known || key == "" {
			continue
		}
		r.token(s.kind, key)
		switch s.how {
		case asWord:
			words = append(words, key)
			continue
		case asName:
			words, short = append(words, key), append(short, key)
			continue
		case inMarks:
			marks = append(marks, key)
			if hashForm.MatchString(key) {
				short = append(short, key)
				continue
			}
		default:
			names = append(names, key)
		}
		r.secrets = append(r.secrets, key)
	}
	r.names, r.marks = anyOf(names, ``), anyOf(marks, `\b`)
	r.words, r.short = anyOf(words, `\b`), anyOf(short, `\b`)
	return r
}

// anyOf finds each of the texts between two edges, in any case; nil for none.
func anyOf(texts []string, edge string) *regexp.Regexp {
	if len(texts) == 0 {
		return nil
	}
	slices.SortFunc(texts, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = regexp.QuoteMeta(t)
	}
	return regexp.MustCompile(`(?i)` + edge + `(?:` + strings.Join(quoted, "|") + `)` + edge)
}

// token is the token of a text, a new one where it has none.
func (r *redactor) token(kind, text string) string {
	key := strings.ToLower(text)
	t, ok := r.tokens[key]
	if !ok {
		r.counts[kind]++
		t = fmt.Sprintf("redacted-%s-%d", kind, r.counts[kind])
		r.tokens[key] = t
	}
	return t
}

// foundIn is the first secret in a line in lower case, "" if there is none.
func (r *redactor) foundIn(line string) string {
	for _, s := range r.secrets {
		if strings.Contains(line, s) {
			return s
		}
	}
	if r.short != nil {
		return r.short.FindString(line)
	}
	return ""
}

var (
	// macForm finds hardware addresses of six bytes and more, as of Ethernet
	// and InfiniBand.
	macForm = regexp.MustCompile(`(?i)\b[0-9a-f]{2}(?:(?::[0-9a-f]{2}){5,19}|(?:-[0-9a-f]{2}){5})\b`)
	// addressForm finds what may be an IP address; netip decides.
	addressForm = regexp.MustCompile(`(?i)[0-9a-f:.]*(?:[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+|[0-9a-f]*::?[0-9a-f:]*:[0-9a-f:]*)[0-9a-f:.]*`)
	mailForm    = regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}`)
	homeForm    = regexp.MustCompile(`(/home/|/Users/|/export/home/)([^/\s"':,;\\<>|()\[\]]+)`)
)

// fixed replaces serials and UUIDs, where those are to be. It is for fields of
// a fixed form, whose words could be taken for a name or an address.
func (r *redactor) fixed(text string) string { return r.replace(r.marks, text) }

func (r *redactor) replace(known *regexp.Regexp, text string) string {
	if known == nil {
		return text
	}
	return known.ReplaceAllStringFunc(text, func(s string) string { return r.tokens[strings.ToLower(s)] })
}

// text replaces all that the redactor knows and finds.
func (r *redactor) text(text string) string {
	text = r.replace(r.words, r.replace(r.names, r.fixed(text)))
	if strings.Contains(text, "@") {
		text = mailForm.ReplaceAllStringFunc(text, func(s string) string { return r.token("mail", s) })
	}
	if strings.Contains(text, "/") {
		text = homeForm.ReplaceAllStringFunc(text, func(s string) string {
			parts := homeForm.FindStringSubmatch(s)
			if strings.HasPrefix(parts[2], "redacted-") {
				return s
			}
			return parts[1] + r.token("user", parts[2])
		})
	}
	if strings.ContainsAny(text, ":-") {
		text = macForm.ReplaceAllStringFunc(text, func(s string) string { return r.token("mac", s) })
	}
	if strings.ContainsAny(text, ":.") {
		text = replaceAddresses(text, r)
	}
	return text
}

// replaceAddresses replaces IP addresses that stand alone: 92.00.45.00.06 is a
// firmware's version, and a::b a name in a program.
func replaceAddresses(text string, r *redactor) string {
	var out strings.Builder
	last := 0
	for _, at := range addressForm.FindAllStringIndex(text, -1) {
		from, to := at[0], at[1]
		for to > from && (text[to-1] == '.' || text[to-1] == ':' && !strings.HasSuffix(text[from:to], "::")) {
			to-- // the end of a sentence, or what a log puts after the address
		}
		if from > 0 && wordByte(text[from-1]) || to < len(text) && wordByte(text[to]) {
			continue
		}
		address, port := text[from:to], ""
		ip, err := netip.ParseAddr(address)
		if i := strings.LastIndexByte(address, ':'); err != nil && i > 0 && strings.Count(address, ":") == 1 {
			address, port = address[:i], address[i:]
			ip, err = netip.ParseAddr(address)
		}
		if err != nil || ip.IsLoopback() || ip.IsUnspecified() || !strings.ContainsAny(address, "0123456789") {
			continue
		}
		out.WriteString(text[last:from])
		out.WriteString(r.token("ip", ip.String()))
		out.WriteString(port)
		last = to
	}
	out.WriteString(text[last:])
	return out.String()
}

func wordByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}
