package junit_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	library "github.com/jstemmer/go-junit-report/v2/junit"
	"pgregory.net/rapid"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/internal/sample"
	"github.com/peerproof/peerproof/report/junit"
)

var update = flag.Bool("update", false, "write the golden files")

func broken(t *testing.T) *report.Results {
	t.Helper()
	r, err := report.Build(strings.NewReader(sample.Broken().String()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func write(t interface{ Fatal(...any) }, r *report.Results) []byte {
	var b bytes.Buffer
	if err := junit.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	got := write(t, broken(t))
	golden := filepath.Join("testdata", "broken.xml")
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("junit.xml (-want +got):\n%s", diff)
	}
}

func TestReadByTheLibrary(t *testing.T) {
	r := broken(t)
	var suites library.Testsuites
	if err := xml.Unmarshal(write(t, r), &suites); err != nil {
		t.Fatal(err)
	}
	c := r.Counts
	if suites.Tests != c.Total() || suites.Failures != c.Fail || suites.Errors != c.Error || suites.Skipped != c.Skip+c.Waived {
		t.Errorf("testsuites counts %d %d %d %d, want those of %+v", suites.Tests, suites.Failures, suites.Errors, suites.Skipped, c)
	}
	if !strings.Contains(suites.Name, "SIMULATED") {
		t.Errorf("name %q does not say SIMULATED", suites.Name)
	}
	var names []string
	for _, s := range suites.Suites {
		names = append(names, s.Name)
		var got library.Testsuite
		for _, tc := range s.Testcases {
			got.AddTestcase(tc)
			if n := count(tc.Failure) + count(tc.Error) + count(tc.Skipped); n > 1 {
				t.Errorf("%s has %d of failure, error and skipped", tc.Name, n)
			}
		}
		if got.Tests != s.Tests || got.Failures != s.Failures || got.Errors != s.Errors || got.Skipped != s.Skipped {
			t.Errorf("%s counts %d %d %d %d, its cases %d %d %d %d", s.Name, s.Tests, s.Failures, s.Errors, s.Skipped,
				got.Tests, got.Failures, got.Errors, got.Skipped)
		}
	}
	want := []string{"node-17.SN0042.inventory", "node-17.SN0042.link", "node-17.SN0042.dereference", "node-17.SN0042.bandwidth"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("suites (-want +got):\n%s", diff)
	}
	slow := suites.Suites[3].Testcases[0]
	if slow.Name != "bandwidth/write-ce[gpu0->gpu1]" || slow.Classname != "node-17.bandwidth" || slow.Time != "0.500" {
		t.Errorf("case %q of %q took %q", slow.Name, slow.Classname, slow.Time)
	}
	first, _, _ := strings.Cut(slow.Failure.Data, "\n")
	for _, text := range []string{first, slow.Failure.Message} {
		if !strings.Contains(text, "fail below-floor") || !strings.Contains(text, "38.2 GB/s") {
			t.Errorf("%q lacks verdict or number", text)
		}
	}
	if slow.Failure.Type != "below-floor" || !strings.Contains(slow.Failure.Data, "peerproof run --node 'my node.yaml'") {
		t.Errorf("failure %+v", slow.Failure)
	}
	waived, none := suites.Suites[3].Testcases[5].Skipped, suites.Suites[1].Testcases[0].Skipped
	if !strings.HasPrefix(waived.Message, "waived: ") || !strings.HasPrefix(none.Message, "no-subjects: ") {
		t.Errorf("skipped with %q and %q", waived.Message, none.Message)
	}
	if !strings.Contains(none.Data, "this node has no NVLink") {
		t.Errorf("GitLab shows the body of skipped, which is %q", none.Data)
	}
}

func count(r *library.Result) int {
	if r == nil {
		return 0
	}
	return 1
}

// suite is what a second reader sees, with the properties that the library
// does not know.
type suite struct {
	Properties []library.Property `xml:"properties>property"`
	Cases      []struct {
		Name       string             `xml:"name,attr"`
		Properties []library.Property `xml:"properties>property"`
		Failure    []string           `xml:"failure"`
	} `xml:"testcase"`
}

func read(t *testing.T, text []byte) []suite {
	t.Helper()
	var doc struct {
		Suites []suite `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Suites
}

func TestProperties(t *testing.T) {
	suites := read(t, write(t, broken(t)))
	got := map[string]string{}
	for _, p := range suites[3].Cases[0].Properties {
		got[p.Name] = p.Value
	}
	want := map[string]string{
		"code": "below-floor", "path": "PIX", "measurement": "bandwidth",
		"value": "38.2", "unit": "GB/s", "floor": "44.1", "theoretical": "63",
		"gpu0.bus_id": "0000:18:00.0", "gpu0.uuid": "GPU-00000000", "gpu0.serial": "1650000",
		"gpu1.bus_id": "0000:19:00.0", "gpu1.uuid": "GPU-00000001", "gpu1.serial": "1650001",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
}

// One case a spec, with its runs in the text.
func TestAttempts(t *testing.T) {
	r := broken(t)
	s := &r.Specs[9]
	s.Message = "failed 1 of 3 runs: 38.2 GB/s"
	s.Attempts = []report.Attempt{{Verdict: verdict.Fail, Code: "below-floor", Message: "38.2\x1b[31m GB/s"}, {Verdict: verdict.Pass}, {Verdict: verdict.Pass}}
	text := write(t, r)
	if err := walk(text); err != nil {
		t.Fatal(err)
	}
	c := read(t, text)[3].Cases
	if len(c) != 7 || c[1].Name != s.ID {
		t.Fatalf("%d cases, %s for %s", len(c), c[1].Name, s.ID)
	}
	for _, want := range []string{"failed 1 of 3 runs: 38.2 GB/s\n", "\nrun 1 of 3: fail below-floor: 38.2 GB/s\nrun 2 of 3: pass\nrun 3 of 3: pass\n"} {
		if !strings.Contains(c[1].Failure[0], want) {
			t.Errorf("no %q in\n%s", want, c[1].Failure[0])
		}
	}
}

func TestWaived(t *testing.T) {
	r := broken(t)
	s := &r.Specs[len(r.Specs)-2]
	s.Message = "41 GB/s is below the floor"
	s.Waiver = &report.Waiver{Spec: "bandwidth/*[gpu2->*]", Reason: "riser\x1b[2J on order", Owner: "the lab", Expires: "2026-03-01"}
	var suites library.Testsuites
	text := write(t, r)
	if err := xml.Unmarshal(text, &suites); err != nil {
		t.Fatal(err)
	}
	c := suites.Suites[3].Testcases[5]
	if c.Failure != nil || c.Error != nil || c.Skipped == nil {
		t.Fatalf("%s is %+v", c.Name, c)
	}
	if want := "waived: until 2026-03-01, the lab: riser on order; below-floor: 41 GB/s is below the floor"; c.Skipped.Message != want {
		t.Errorf("message %q", c.Skipped.Message)
	}
	for _, want := range []string{"waived below-floor, 41 GB/s (floor 44.1, theory 63): 41 GB/s is below", "waived until 2026-03-01, the lab: riser on order\n", "waived by the pattern: bandwidth/*[gpu2->*]\n"} {
		if !strings.Contains(c.Skipped.Data, want) {
			t.Errorf("the text lacks %q:\n%s", want, c.Skipped.Data)
		}
	}
	got := map[string]string{}
	for _, p := range read(t, text)[3].Cases[5].Properties {
		if strings.HasPrefix(p.Name, "waive") {
			got[p.Name] = p.Value
		}
	}
	want := map[string]string{
		"waived": "41 GB/s is below the floor", "waiver.spec": "bandwidth/*[gpu2->*]", "waiver.reason": "riser on order",
		"waiver.owner": "the lab", "waiver.expires": "2026-03-01",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
}

// walk reads XML strictly, character by character where it matters.
func walk(text []byte) error {
	if i := bytes.IndexFunc(text, func(r rune) bool {
		return r == '\ufffe' || r == '\uffff' || r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0
	}); i >= 0 {
		return fmt.Errorf("control or forbidden character at byte %d: %q", i, text[max(0, i-20):min(len(text), i+20)])
	}
	dec := xml.NewDecoder(bytes.NewReader(text))
	dec.Strict = true
	allowed := map[string]string{
		"testsuites": "", "testsuite": "testsuites", "testcase": "testsuite", "property": "properties",
		"failure": "testcase", "error": "testcase", "skipped": "testcase",
	}
	var stack []string
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch tok := token.(type) {
		case xml.StartElement:
			parent := ""
			if len(stack) > 0 {
				parent = stack[len(stack)-1]
			}
			if want, known := allowed[tok.Name.Local]; known && want != parent {
				return fmt.Errorf("<%s> in <%s>", tok.Name.Local, parent)
			} else if !known && tok.Name.Local != "properties" {
				return fmt.Errorf("unknown element <%s>", tok.Name.Local)
			}
			seen := map[string]bool{}
			for _, a := range tok.Attr {
				if seen[a.Name.Local] {
					return fmt.Errorf("attribute %s twice", a.Name.Local)
				}
				seen[a.Name.Local] = true
				if a.Name.Local == "time" && !fixedPoint.MatchString(a.Value) {
					return fmt.Errorf("time %q", a.Value)
				}
			}
			stack = append(stack, tok.Name.Local)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		}
	}
}

var fixedPoint = regexp.MustCompile(`^\d+\.\d{3}$`)

func TestHostileText(t *testing.T) {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"]]>", "<![CDATA[", "<!--", "&amp;", "&#27;", "\x1b[31m", "\x00", "\ufffe", "\uffff", "\xed\xa0\x80", "\xff", "\r", "\n", "\u202e", "\u0085", "\"", "'", "</failure>",
			strings.Repeat("x", 9_000), strings.Repeat("é", 4_000), strings.Repeat("]]>", 3_000),
		}),
		rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
	text := rapid.Map(rapid.SliceOfN(piece, 0, 6), func(all []string) string { return strings.Join(all, "") })
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) string { return text.Draw(rt, name) }
		v := rapid.SampledFrom([]verdict.Verdict{verdict.Pass, verdict.Fail, verdict.Error, verdict.Skip, verdict.Waived}).Draw(rt, "verdict")
		r := &report.Results{
			Run:      report.Run{Host: draw("host"), Serial: draw("serial"), Tool: draw("tool"), Profile: draw("profile"), Args: []string{"--node", draw("node")}, Loopback: true},
			GPUs:     []report.GPU{{Slot: "gpu0", Model: draw("model"), BusID: draw("bus"), UUID: draw("uuid")}},
			Warnings: []string{draw("warning")},
			Specs: []report.Spec{{
				ID: "a/b[gpu0]", Text: draw("text"), Verdict: v, Code: draw("code"), Message: draw("message"), Hint: draw("hint"), Path: draw("path"),
				Subject: &report.Subject{GPU: "gpu0"}, Duration: rapid.Float64Range(0, 1e9).Draw(rt, "duration"),
				Measurements: []verdict.Measurement{{Name: draw("name"), Unit: draw("unit"), Value: rapid.Float64().Draw(rt, "value"), Samples: make([]float64, 500)}},
			}},
		}
		if v != verdict.Pass {
			r.Specs[0].Attempts = []report.Attempt{{Verdict: v, Code: r.Specs[0].Code, Message: r.Specs[0].Message}, {Verdict: verdict.Pass}}
		}
		if v == verdict.Waived {
			r.Specs[0].Waiver = &report.Waiver{Spec: draw("pattern"), Reason: draw("reason"), Owner: draw("owner"), Expires: draw("expires")}
		}
		r.Counts.Add(v)
		got := write(rt, r)
		if err := walk(got); err != nil {
			rt.Fatal(err)
		}
		var suites library.Testsuites
		if err := xml.Unmarshal(got, &suites); err != nil {
			rt.Fatal(err)
		}
		for _, tc := range suites.Suites[0].Testcases {
			for _, result := range []*library.Result{tc.Failure, tc.Error, tc.Skipped} {
				if result != nil && len(result.Data)+len(result.Message) > 64<<10 {
					rt.Fatalf("%d bytes of text", len(result.Data)+len(result.Message))
				}
			}
		}
	})
}

func TestLongTextPointsAtTheJournal(t *testing.T) {
	r := broken(t)
	r.Specs[3].Message = strings.Repeat("a line of many\n", 10_000)
	failure := read(t, write(t, r))[0].Cases[3].Failure[0]
	if len(failure) > 64<<10 || !strings.HasSuffix(strings.TrimSpace(failure), "the whole text is in journal.jsonl]") {
		t.Errorf("%d bytes, ending in %q", len(failure), failure[len(failure)-60:])
	}
}

func TestManyCases(t *testing.T) {
	r := broken(t)
	passed := r.Specs[1]
	failed := *r.Specs[8].Subject
	for i := range 20_001 {
		s := passed
		s.ID = fmt.Sprintf("inventory/model[gpu%d]", 100+i)
		s.Subject = &failed
		r.Specs = append(r.Specs, s)
		r.Counts.Add(s.Verdict)
	}
	text := write(t, r)
	if each := len(text) / len(r.Specs); each > 150 {
		t.Errorf("%d bytes a spec: those of a rack, 180,000, exceed GitLab's 30 MB", each)
	}
	suites := read(t, text)
	said := false
	for _, p := range suites[0].Properties {
		said = said || p.Name == "case-properties"
	}
	if !said {
		t.Error("no suite property says that properties were left out")
	}
	if n := len(suites[0].Cases[1].Properties); n != 0 {
		t.Errorf("a case that passed has %d properties", n)
	}
	if len(suites[3].Cases[0].Properties) == 0 {
		t.Error("a case that failed has no properties")
	}
}

func TestServerWithoutASerial(t *testing.T) {
	for _, c := range []struct {
		serial, gpu, uuid, want string
	}{
		{"SN1", "165", "GPU-1", "h.SN1.inventory"},
		{"", "165", "GPU-1", "h.165.inventory"},
		{"", "", "GPU-1", "h.GPU-1.inventory"},
		{"", "", "", "h.no-serial.inventory"},
	} {
		r := broken(t)
		r.Run.Host, r.Run.Serial, r.GPUs = "h", c.serial, []report.GPU{{Slot: "gpu0", Serial: c.gpu, UUID: c.uuid}}
		var suites library.Testsuites
		if err := xml.Unmarshal(write(t, r), &suites); err != nil {
			t.Fatal(err)
		}
		if got := suites.Suites[0].Name; got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// Expat reads as GitLab's and Jenkins' parsers do.
func TestReadByExpat(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	path := filepath.Join(t.TempDir(), "junit.xml")
	if err := os.WriteFile(path, write(t, broken(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	const script = `
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
cases = list(root.iter("testcase"))
print(root.get("tests"), len(cases), len({(c.get("classname"), c.get("name")) for c in cases}), sum(len(c.findall("failure")) for c in cases))`
	out, err := exec.Command(python, "-c", script, path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := strings.TrimSpace(string(out)); got != "15 15 15 6" {
		t.Errorf("expat sees %q", got)
	}
}
