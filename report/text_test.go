package report_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                 "plain",
		"two\nlines":            "two\nlines",
		"tab\there":             "tab here",
		"\x1b[1;31mred\x1b[0m":  "red",
		"\x1b]0;title\a":        "]0;title",
		"nul\x00 bel\a del\x7f": "nul bel del",
		"c1\u009b31m":           "c131m",
		"bad\xffbyte":           "bad\ufffdbyte",
		"\ufffe\uffff":          "\ufffd\ufffd",
		"\u202egnp.exe":         "gnp.exe",
		"a\r\nb":                "a\nb",
		"süß 東京 😀":              "süß 東京 😀",
	} {
		if got := report.Plain(in); got != want {
			t.Errorf("Plain(%q) = %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		in := string(rapid.SliceOf(rapid.Byte()).Draw(rt, "bytes"))
		line := report.Line(in)
		if !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl) {
			rt.Fatalf("Line(%q) = %q", in, line)
		}
		limit := rapid.IntRange(0, 40).Draw(rt, "limit")
		cut := report.Cut(line, limit, "…")
		if !utf8.ValidString(cut) || len(cut) > max(limit, len("…")) {
			rt.Fatalf("Cut(%q, %d) = %q", line, limit, cut)
		}
	})
}

func TestNumber(t *testing.T) {
	for in, want := range map[float64]string{
		0: "0", 1: "1", 44.1: "44.1", 221.4: "221.4", 396.4321: "396.4", 0.5: "0.5", 1526: "1526", 8.4e-05: "0.000084", 38.2468: "38.25", 1e-300: "0", 999.96: "1000",
		63: "63", 450: "450", 2081.3: "2081.3", -12.25: "-12.25", 1e12: "1000000000000",
	} {
		if got := report.Number(in); got != want {
			t.Errorf("Number(%v) = %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		if got := report.Number(rapid.Float64().Draw(rt, "v")); strings.ContainsAny(got, "eE") {
			rt.Fatalf("Number is not in fixed point: %s", got)
		}
	})
}

func TestHeadline(t *testing.T) {
	for _, c := range []struct {
		name string
		spec report.Spec
		want string
	}{
		{"pass", report.Spec{Verdict: verdict.Pass}, "pass"},
		{"data", report.Spec{Verdict: verdict.Fail, Code: "data-mismatch", Message: "2 bytes\nare old"}, "fail data-mismatch: 2 bytes are old"},
		{
			"the figure that misses its floor decides",
			report.Spec{Verdict: verdict.Fail, Code: "below-floor", Message: "slow", Measurements: []verdict.Measurement{
				{Name: "copies", Value: 16},
				{Name: "a", Value: 50, Unit: "GB/s", Floor: 44, Theoretical: 63},
				{Name: "b", Value: 38.2, Unit: "GB/s", Floor: 44.1, Theoretical: 63},
			}},
			"fail below-floor, 38.2 GB/s (floor 44.1, theory 63): slow",
		},
		{
			"one with a floor before one without",
			report.Spec{Verdict: verdict.Pass, Measurements: []verdict.Measurement{{Name: "copies", Value: 16}, {Value: 50, Unit: "GB/s", Floor: 44}}},
			"pass, 50 GB/s (floor 44)",
		},
	} {
		if got := report.Headline(&c.spec); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestReproduce(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, `peerproof run -k 'a/b[gpu0->gpu1]'`},
		{
			[]string{"run", "--node", "it's.yaml", "--out", "x", "-k", "c/d", "--loopback", "-v", "--timeout=3s"},
			`peerproof run --node 'it'\''s.yaml' --loopback --timeout=3s -k 'a/b[gpu0->gpu1]'`,
		},
		{[]string{"run", "--profile=hgx-h200-8", "--resume", "y"}, `peerproof run --profile=hgx-h200-8 -k 'a/b[gpu0->gpu1]'`},
		{[]string{"run", "--node"}, `peerproof run --node -k 'a/b[gpu0->gpu1]'`},
	} {
		run := report.Run{Args: c.args}
		if got := run.Reproduce("a/b[gpu0->gpu1]"); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.args, got, c.want)
		}
	}
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	write := func(text string, err error) error {
		return report.WriteFile(path, func(w io.Writer) error {
			io.WriteString(w, text)
			return err
		})
	}
	if err := write("first", nil); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no")
	if err := write("half", broken); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "first" {
		t.Errorf("a document that failed was written over the old one: %q", got)
	}
	if err := write("second", nil); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "second" {
		t.Errorf("got %q", got)
	}
	left, _ := os.ReadDir(filepath.Dir(path))
	if len(left) != 1 {
		t.Errorf("files left behind: %v", left)
	}
}
