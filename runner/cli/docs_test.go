package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/peerproof/peerproof/runner/cli"
)

const top = "../.." // of the repository

// pages are README.md and every page of docs, by path from the top.
func docPages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	read := func(name string) {
		text, err := os.ReadFile(filepath.Join(top, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(text)
	}
	read("README.md")
	err := fs.WalkDir(os.DirFS(top), "docs", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(name, ".md") {
			read(name)
		}
		return err
	})
	if err != nil || len(all) < 5 {
		t.Fatalf("%d pages, %v", len(all), err)
	}
	return all
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestDocsLinksResolve(t *testing.T) {
	for name, text := range docPages(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(top, filepath.Dir(name), target)); err != nil {
				t.Errorf("%s: %s: %v", name, m[1], err)
			}
		}
	}
}

func TestEveryPageIsLinkedFromREADME(t *testing.T) {
	pages := docPages(t)
	for name := range pages {
		if name != "README.md" && !strings.Contains(pages["README.md"], "("+name+")") {
			t.Errorf("README.md has no link to %s", name)
		}
	}
}

// commandLines are those of a page's code blocks that call the program.
func commandLines(text string) []string {
	var all []string
	inside := false
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			inside = !inside
		case inside:
			line = strings.TrimPrefix(strings.TrimPrefix(line, "$ "), "bin/")
			if strings.HasPrefix(line, "peerproof ") {
				all = append(all, line)
			}
		}
	}
	return all
}

var word = regexp.MustCompile(`"[^"]*"|'[^']*'|[^\s"']+`)

// words are those of a simple command line, up to a comment, a pipe or a
// redirection.
func words(line string) []string {
	var all []string
	for _, w := range word.FindAllString(line, -1) {
		if strings.ContainsAny(w[:1], "#|><;&(") {
			break
		}
		all = append(all, strings.Trim(w, `"'`))
	}
	return all
}

// Every command line that docs show is one that the program takes.
func TestDocsShowCommandsThatExist(t *testing.T) {
	seen := 0
	for name, text := range docPages(t) {
		for _, line := range commandLines(text) {
			seen++
			if err := parses(words(line)[1:]); err != "" {
				t.Errorf("%s: %s: %s", name, line, err)
			}
		}
	}
	if seen < 15 {
		t.Errorf("only %d command lines found", seen)
	}
	for line, good := range map[string]bool{
		"peerproof run --node x -rA": true, "peerproof frobnicate": false, "peerproof run --frobnicate": false, "peerproof list --out x": false,
	} {
		if err := parses(words(line)[1:]); (err == "") != good {
			t.Errorf("%s: %q", line, err)
		}
	}
}

func parses(args []string) string {
	root := cli.Command()
	cmd, rest, err := root.Find(args)
	switch {
	case err != nil:
		return err.Error()
	case cmd == root && len(args) > 0 && !strings.HasPrefix(args[0], "-"):
		return "no such command"
	}
	if err := cmd.ParseFlags(rest); err != nil && !strings.Contains(err.Error(), "help") {
		return err.Error()
	}
	return ""
}
