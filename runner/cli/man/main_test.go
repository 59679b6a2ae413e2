package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/peerproof/peerproof/runner/cli"
)

// made are the documents of the real command line.
func made(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := write(cli.Command(), dir, "0.1.0", "1790000000"); err != nil {
		t.Fatal(err)
	}
	return dir
}

func pages(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(made(t), "man", "*.1"))
	if err != nil || len(all) < 5 {
		t.Fatalf("%q, %v", all, err)
	}
	return all
}

// Two readers of manual pages other than the writer find nothing to warn of.
func TestPagesHaveNoWarnings(t *testing.T) {
	for name, arguments := range map[string][]string{
		"mandoc": {"-Tlint", "-Wwarning"},
		"groff":  {"-wall", "-man", "-Tutf8", "-z"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(name); err != nil {
				t.Skip(name, "is not installed")
			}
			for _, page := range pages(t) {
				out, err := exec.Command(name, append(arguments, page)...).CombinedOutput()
				if err != nil || len(out) > 0 {
					t.Errorf("%s: %v\n%s", filepath.Base(page), err, out)
				}
			}
		})
	}
}

// What is shown has every flag of the command and its examples as they are.
func TestPagesShowTheHelp(t *testing.T) {
	if _, err := exec.LookPath("mandoc"); err != nil {
		t.Skip("mandoc is not installed")
	}
	dir := made(t)
	for _, c := range documented(cli.Command()) {
		var out bytes.Buffer
		render := exec.Command("mandoc", "-Tascii", "-O", "width=300", filepath.Join(dir, "man", pageName(c)+".1"))
		render.Stdout = &out
		if err := render.Run(); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		for i := strings.IndexByte(text, '\b'); i > 0; i = strings.IndexByte(text, '\b') {
			text = text[:i-1] + text[i+1:] // bold and underlined by overstriking
		}
		text = strings.Join(strings.Fields(text), " ")
		for _, want := range append(strings.Split(c.Example, "\n"), c.CommandPath(), c.Short[1:]) {
			if want = strings.Join(strings.Fields(want), " "); !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", pageName(c), want, text)
			}
		}
		for flag := range strings.FieldsSeq(c.Flags().FlagUsages()) {
			if strings.HasPrefix(flag, "--") && !strings.Contains(text, strings.TrimSuffix(flag, ",")) {
				t.Errorf("%s: no flag %s", pageName(c), flag)
			}
		}
	}
}

func TestHostileTextIsShownAsItIs(t *testing.T) {
	c := &cobra.Command{
		Use: "x", Short: "Shows", Run: func(*cobra.Command, []string) {},
		Long: ".SH FAKE\n'br\nback\\slash \\fBbold - 'quoted' \"twice\" `tick` ~home ^up",
	}
	text := page(c, "1", time.Unix(0, 0).UTC())
	for line := range strings.Lines(text) {
		if line == ".SH FAKE\n" || strings.HasPrefix(line, "'br") {
			t.Errorf("text is taken for a request: %q", line)
		}
	}
	if _, err := exec.LookPath("mandoc"); err != nil {
		t.Skip("mandoc is not installed")
	}
	render := exec.Command("mandoc", "-Tascii")
	render.Stdin = strings.NewReader(text)
	out, err := render.Output()
	if got := strings.Join(strings.Fields(string(out)), " "); err != nil || !strings.Contains(got, ".SH FAKE 'br back\\slash \\fBbold - 'quoted' \"twice\" `tick` ~home ^up") {
		t.Errorf("%v:\n%s", err, got)
	}
}

func TestCompletionsAreGoodForTheirShells(t *testing.T) {
	dir := filepath.Join(made(t), "completions")
	for shell, name := range map[string]string{"bash": "peerproof.bash", "zsh": "_peerproof", "fish": "peerproof.fish"} {
		t.Run(shell, func(t *testing.T) {
			if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Contains(text, []byte("peerproof")) {
				t.Fatalf("%v: %s", err, text)
			}
			if _, err := exec.LookPath(shell); err != nil {
				t.Skip(shell, "is not installed")
			}
			if out, err := exec.Command(shell, "-n", filepath.Join(dir, name)).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

func TestDateIsAsked(t *testing.T) {
	if err := write(cli.Command(), t.TempDir(), "1", "today"); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("%v", err)
	}
}
