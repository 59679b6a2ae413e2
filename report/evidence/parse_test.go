package evidence

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

func FuzzManifest(f *testing.F) {
	m := &Manifest{Version: Version, Tool: "peerproof 0.1.0", Files: []File{{Name: "a", Size: 1, SHA256: strings.Repeat("0", 64)}}, Redacted: &Redacted{}}
	text, err := m.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(bytes.Replace(text, []byte(`"version": 1,`), []byte("\"version\": 1,\n  \"Version\": 1,"), 1))
	f.Add([]byte(`{"version": 1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseManifest(text)
		if err != nil {
			return
		}
		if again, err := m.encode(); err != nil || !bytes.Equal(again, text) {
			t.Errorf("%s was taken for %s", text, again)
		}
	})
}

func FuzzSums(f *testing.F) {
	line := strings.Repeat("0a", 32) + "  results.json\n"
	f.Add(line)
	f.Add(line + line)
	f.Add(strings.ReplaceAll(line, "  ", " *"))
	f.Add(`\` + line)
	f.Fuzz(func(t *testing.T, text string) {
		sums, err := parseSums(text)
		if err != nil {
			return
		}
		var files []File
		for name, sum := range sums {
			if !nameForm.MatchString(name) || len(sum) != 64 {
				t.Errorf("%q was taken: %s of %s", text, sum, name)
			}
			files = append(files, File{Name: name, SHA256: sum})
		}
		if again, _ := parseSums(string(formatSums(files))); len(again) != len(sums) {
			t.Errorf("%q was taken for %d files", text, len(sums))
		}
	})
}

func FuzzSigners(f *testing.F) {
	f.Add(`a@b,"c d" namespaces="x,y",valid-before="20300101Z" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8ZZ/0000 comment`, "a@b")
	f.Fuzz(func(t *testing.T, text, who string) {
		signers, err := ParseSigners([]byte(text))
		if (err == nil) == (len(signers) == 0) {
			t.Errorf("%d signers, error %v", len(signers), err)
		}
		match(strings.Split(text, ","), who)
	})
}

func FuzzSignature(f *testing.F) {
	f.Add([]byte("-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----\n"))
	f.Fuzz(func(t *testing.T, armored []byte) {
		if key, err := openSignature(armored, []byte("sums")); err == nil {
			t.Errorf("a signature out of nothing, by %s", fingerprint(key))
		}
	})
}

func TestPatternsOfPrincipals(t *testing.T) {
	for _, c := range []struct {
		patterns, text string
		want           bool
	}{
		{"lab@example.com", "lab@example.com", true},
		{"lab@example.com", "lab@example.co", false},
		{"lab@example.com", "LAB@example.com", false},
		{"*@example.com", "lab@example.com", true},
		{"*", "", true},
		{"l?b@*", "lab@x", true},
		{"l?b@*", "lb@x", false},
		{"*@example.com,!bob@*", "bob@example.com", false},
		{"!bob@*", "alice@x", false},
		{"a,b", "b", true},
		{"a*b*c", "aXbYc", true},
		{"a*b*c", "aXc", false},
		{"", "", true},
		{strings.Repeat("*a", 50), strings.Repeat("a", 5000), true}, // no pattern takes for ever
	} {
		if got := match(strings.Split(c.patterns, ","), c.text); got != c.want {
			t.Errorf("%.40s of %.40s: %t", c.patterns, c.text, got)
		}
	}
}

func TestTimesOfSigners(t *testing.T) {
	utc := time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"20260203Z": utc, "202602030405Z": utc.Add(4*time.Hour + 5*time.Minute), "20260203040506Z": utc.Add(4*time.Hour + 5*time.Minute + 6*time.Second),
		"20260203": time.Date(2026, 2, 3, 0, 0, 0, 0, time.Local),
	} {
		if got, err := parseTime(text); err != nil || !got.Equal(want) {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "Z", "2026", "20261303", "20260203T", "2026020304050607"} {
		if got, err := parseTime(text); err == nil {
			t.Errorf("%s is taken for %s", text, got)
		}
	}
}

func TestFormedFieldsExist(t *testing.T) {
	for typ, fields := range formed {
		for _, f := range fields {
			if _, ok := typ.FieldByName(f); !ok {
				t.Errorf("%s has no field %s", typ, f)
			}
		}
		if len(slices.Compact(slices.Sorted(slices.Values(fields)))) != len(fields) {
			t.Errorf("%s: a field twice", typ)
		}
	}
}
