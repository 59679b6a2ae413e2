package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/net/html"

	"github.com/peerproof/peerproof/fixtures/profile"
	"github.com/peerproof/peerproof/report/internal/readable"
	"github.com/peerproof/peerproof/report/schema"
	"github.com/peerproof/peerproof/runner/cli"
	_ "github.com/peerproof/peerproof/suites/all"
)

// The test's binary is the program, where it is called as that: so the
// documents are looked at that a user gets.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(cli.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// program runs peerproof and returns its exit code and output.
func program(t *testing.T, dir string, args ...string) (exit int, stdout, stderr []byte) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	var status *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &status) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.Bytes(), complaints.Bytes()
}

func validate(t *testing.T, schemaText, document []byte) error {
	t.Helper()
	of, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaText))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", of); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return err
	}
	return compiled.Validate(doc)
}

// documentChecks are checks of a run's documents by their readers' rules.
var documentChecks = map[string]func(t *testing.T, text []byte) error{
	"results.json": func(t *testing.T, text []byte) error { return validate(t, schema.Results(), text) },
	"node.json":    func(t *testing.T, text []byte) error { return validate(t, schema.Node(), text) },
	"junit.xml":    func(_ *testing.T, text []byte) error { return readable.JUnit(text) },
	"strict.xml": func(_ *testing.T, text []byte) error {
		return errors.Join(readable.JUnit(text), readable.Strict(text))
	},
	"metrics.prom": func(_ *testing.T, text []byte) error {
		parser := expfmt.NewTextParser(model.LegacyValidation)
		_, err := parser.TextToMetricFamilies(bytes.NewReader(text))
		return err
	},
	"ocp.jsonl":   func(_ *testing.T, text []byte) error { return readable.OCP(text) },
	"report.html": func(_ *testing.T, text []byte) error { return inert(text) },
}

// inert refuses a page that has an element which runs or fetches something, or
// that a browser reads otherwise than it was written.
func inert(text []byte) error {
	tokens := html.NewTokenizer(bytes.NewReader(text))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			if err := tokens.Err(); !errors.Is(err, io.EOF) {
				return err
			}
			return nil
		case html.StartTagToken, html.SelfClosingTagToken:
			token := tokens.Token()
			switch token.Data {
			case "script", "iframe", "object", "embed", "img", "link", "base", "form":
				return fmt.Errorf("an element <%s>", token.Data)
			}
			for _, a := range token.Attr {
				outside := (a.Key == "href" || a.Key == "src") && !strings.HasPrefix(a.Val, "#")
				if strings.HasPrefix(a.Key, "on") || outside {
					return fmt.Errorf("<%s %s=%q>", token.Data, a.Key, a.Val)
				}
			}
		default: // text, comments and ends do nothing
		}
	}
}

// limit is more than any document of these small runs needs, in bytes.
const limit = 2_000_000

// TestDocuments looks at everything that runs of healthy, faulty, hostile and
// empty nodes leave.
func TestDocuments(t *testing.T) {
	const evil = `<script>alert(1)</script> ]]> & \" ' \e[31mred\e[0m \u202Eabc\u2066 nul\0 bel\a\n::set x\r\x9b31m`
	long := strings.Repeat("é", 6_000)
	for name, c := range map[string]struct {
		node    string
		keyword string
		exit    int
	}{
		"healthy": {"version: 1\ngpus: {count: 2, model: NVIDIA H200, memory: 4MiB}\nnvlink: {version: 4, switch: {links: 18}}\n", "inventory or (bandwidth and write-ce) or (latency and copy)", 0},
		"faulty":  {"version: 1\ngpus: {count: 2, model: NVIDIA L40S, memory: 4MiB}\nfaults: [{kind: slow, pair: [0, 1], factor: 0.1}, {kind: busy, gpu: 0, pid: 7}]\n", "inventory or (bandwidth and write-ce)", 1},
		"no GPU":  {"version: 1\ngpus: {count: 0, model: NVIDIA H200}\n", "inventory", 5},
		"hostile": {
			"version: 1\nname: h\ngpus: {count: 2, model: \"GPU " + evil + " " + long + "\", memory: 4MiB, pcie: {gen: 5, width: 16}}\nfaults:\n" +
				"  - {kind: identity, gpu: 0, serial: \"" + evil + long + "\"}\n  - {kind: identity, gpu: 1, uuid: \"GPU-" + evil + "\"}\n" +
				"  - {kind: firmware, gpu: 0, vbios: \"" + evil + "\"}\n",
			"inventory or (bandwidth and write-ce)", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "node.yaml"), []byte(c.node), 0o600); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			exit, stdout, stderr := program(t, dir, "run", "--node", "node.yaml", "-k", c.keyword, "--out", "out")
			if exit != c.exit {
				t.Fatalf("exit %d, want %d\n%s%s", exit, c.exit, stdout, stderr)
			}
			texts := map[string][]byte{"standard output": stdout, "standard error": stderr}
			for _, args := range [][]string{
				{"topo", "--node", "node.yaml"},
				{"topo", "--json", "--node", "node.yaml"},
				{"list", "--json", "--node", "node.yaml"},
				{"report", "out", "--reason"},
				{"report", "out", "-q", "--prometheus", "out/metrics.prom", "--ocp", "out/ocp.jsonl", "--junit-strict"},
			} {
				if args[len(args)-1] == "--junit-strict" {
					rename(t, dir, "junit.xml", "plain.xml")
				}
				_, out, complaints := program(t, dir, args...)
				texts[strings.Join(args, " ")] = append(out, complaints...)
			}
			rename(t, dir, "junit.xml", "strict.xml")
			rename(t, dir, "plain.xml", "junit.xml")
			for file, check := range documentChecks {
				path := filepath.Join(dir, "out", file)
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				texts[file] = text
				if err := check(t, text); err != nil {
					t.Errorf("%s: %v", file, err)
				}
				if info, err := os.Stat(path); err != nil || info.ModTime().Before(began.Add(-time.Second)) {
					t.Errorf("%s is older than the run: Jenkins refuses it", file)
				}
			}
			var err error
			if texts["journal.jsonl"], err = os.ReadFile(filepath.Join(dir, "out", "journal.jsonl")); err != nil {
				t.Fatal(err)
			}
			for file, text := range texts {
				if err := readable.Plain(text); err != nil {
					t.Errorf("%s: %v", file, err)
				}
				if len(text) > limit {
					t.Errorf("%s has %d bytes", file, len(text))
				}
			}
			for _, file := range []string{"topo --json --node node.yaml", "list --json --node node.yaml"} {
				if !json.Valid(texts[file]) {
					t.Errorf("%s is no JSON: %.200s", file, texts[file])
				}
			}
			var root struct {
				Name string `xml:"name,attr"`
			}
			if err := xml.Unmarshal(texts["junit.xml"], &root); err != nil || !strings.Contains(root.Name, "SIMULATED") {
				t.Errorf("junit.xml is called %q: %v", root.Name, err)
			}
			if c.exit != 5 {
				exit, captured, complaints := program(t, dir, "profile", "capture", "--from", "out")
				if exit != 0 {
					t.Fatalf("capture: exit %d %s", exit, complaints)
				}
				if err := readable.Plain(captured); err != nil {
					t.Errorf("captured: %v", err)
				}
				if _, err := profile.Parse("captured", captured); err != nil {
					t.Errorf("captured: %v", err)
				}
			}
		})
	}
}

func rename(t *testing.T, dir, from, to string) {
	t.Helper()
	if err := os.Rename(filepath.Join(dir, "out", from), filepath.Join(dir, "out", to)); err != nil {
		t.Fatal(err)
	}
}
