package html_test

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	nethtml "golang.org/x/net/html"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/html"
	"github.com/peerproof/peerproof/report/internal/sample"
	"github.com/peerproof/peerproof/runner/journal"
)

var update = flag.Bool("update", false, "write the golden files anew")

func build(t testing.TB, j *sample.Journal) *report.Results {
	t.Helper()
	r, err := report.Build(strings.NewReader(j.String()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func write(t testing.TB, r *report.Results) string {
	t.Helper()
	var b bytes.Buffer
	if err := html.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The body alone: the style changes with every look at it.
func body(document string) string {
	return document[strings.LastIndex(document, "</style>"):]
}

func TestGolden(t *testing.T) {
	got := body(write(t, build(t, sample.Broken())))
	const golden = "testdata/broken.html"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("see %s, or run go test ./report/html -update:\n%s", golden, d)
	}
}

// page is a document as a second parser reads it.
type page struct {
	t    *testing.T
	root *nethtml.Node
}

func parse(t *testing.T, document string) page {
	t.Helper()
	root, err := nethtml.Parse(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	return page{t, root}
}

// all are the elements of a name below a node, in order.
func all(n *nethtml.Node, name string) []*nethtml.Node {
	var found []*nethtml.Node
	for d := range n.Descendants() {
		if d.Type == nethtml.ElementNode && (name == "" || d.Data == name) {
			found = append(found, d)
		}
	}
	return found
}

func attribute(n *nethtml.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func content(n *nethtml.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == nethtml.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// section is what stands below a heading of the second level.
func (p page) section(id string) *nethtml.Node {
	p.t.Helper()
	for _, s := range all(p.root, "section") {
		if attribute(s, "aria-labelledby") == id {
			return s
		}
	}
	p.t.Fatalf("no section %s", id)
	return nil
}

// sound is what every document must hold to: unique ids that links lead to,
// headings in order, tables with heads, drawings with a name.
func (p page) sound() {
	p.t.Helper()
	ids := map[string]bool{}
	for _, n := range all(p.root, "") {
		if id := attribute(n, "id"); id != "" {
			if ids[id] {
				p.t.Errorf("id %s stands twice", id)
			}
			ids[id] = true
		}
	}
	for _, a := range all(p.root, "a") {
		if target, ok := strings.CutPrefix(attribute(a, "href"), "#"); !ok || !ids[target] {
			p.t.Errorf("link to %q leads nowhere", attribute(a, "href"))
		}
	}
	for _, n := range all(p.root, "") {
		for _, a := range n.Attr {
			if slices.Contains([]string{"src", "srcset", "action", "data", "style"}, a.Key) || strings.HasPrefix(a.Key, "on") || a.Key == "href" && !strings.HasPrefix(a.Val, "#") {
				p.t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			}
		}
		if slices.Contains([]string{"script", "img", "link", "iframe", "object", "embed", "base", "form", "use", "image", "foreignobject"}, strings.ToLower(n.Data)) {
			p.t.Errorf("element %s", n.Data)
		}
	}
	level := 0
	for _, n := range all(p.root, "") {
		if len(n.Data) == 2 && n.Data[0] == 'h' && n.Data[1] >= '1' && n.Data[1] <= '6' {
			next := int(n.Data[1] - '0')
			if next > level+1 {
				p.t.Errorf("heading %q of level %d follows level %d", content(n), next, level)
			}
			level = next
		}
	}
	for _, name := range []string{"main", "header", "nav", "footer", "h1", "title"} {
		if n := len(all(p.root, name)); name != "title" && n != 1 || n == 0 {
			p.t.Errorf("%d elements %s", n, name)
		}
	}
	for _, th := range all(p.root, "th") {
		if attribute(th, "scope") == "" {
			p.t.Errorf("table head %q without scope", content(th))
		}
	}
	for _, table := range all(p.root, "table") {
		if len(all(table, "th")) == 0 {
			p.t.Errorf("table %q has no heads", content(table))
		}
	}
	for _, svg := range all(p.root, "svg") {
		if attribute(svg, "aria-hidden") == "" && (attribute(svg, "role") != "img" || attribute(svg, "aria-label") == "") {
			p.t.Error("a drawing without a name")
		}
	}
	for _, d := range all(p.root, "details") {
		if first := d.FirstChild; first == nil || first.Data != "summary" {
			p.t.Error("details without a summary")
		}
	}
}

func TestStructure(t *testing.T) {
	r := build(t, sample.Broken())
	p := parse(t, write(t, r))
	p.sound()
	if title := content(all(p.root, "title")[0]); title != "SIMULATED peerproof node-17: FAIL" {
		t.Errorf("title %q", title)
	}
	var order []string
	for _, h := range all(p.root, "h2") {
		order = append(order, attribute(h, "id"))
	}
	if d := cmp.Diff([]string{"first", "server", "figures", "failures", "others", "plots", "inventory"}, order); d != "" {
		t.Error(d)
	}
	failures := content(p.section("failures"))
	for i := range r.Specs {
		s := &r.Specs[i]
		if s.Verdict != verdict.Fail && s.Verdict != verdict.Error || report.Follows(s.Code) {
			continue
		}
		for _, want := range []string{s.ID, s.Code, report.Line(s.Message), report.Line(s.Hint), "peerproof run --node 'my node.yaml' --timeout=30s -k '" + s.ID + "'"} {
			if !strings.Contains(failures, want) {
				t.Errorf("failures lack %q", want)
			}
		}
	}
	first := content(p.section("first"))
	for _, want := range []string{"bus id 0000:1a:00.0", "serial 1650002", "GPU-00000002", "Blocked by it: 1", "bandwidth/symmetric"} {
		if !strings.Contains(first, want) {
			t.Errorf("findings lack %q: %s", want, first)
		}
	}
	others := content(p.section("others"))
	for _, want := range []string{"no-profile", "riser on order", "bandwidth/write-ce"} {
		if !strings.Contains(others, want) {
			t.Errorf("others lack %q", want)
		}
	}
	// The matrix has each figure in its place.
	if got := cellOf(p, "bandwidth/write-ce", "gpu0", 1); got != "✗38.2" {
		t.Errorf("gpu0 to gpu1: %q", got)
	}
	if got := cellOf(p, "bandwidth/write-ce", "gpu2", 0); got != "54.3" {
		t.Errorf("gpu2 to gpu0: %q", got)
	}
	if got := cellOf(p, "bandwidth/write-ce", "gpu2", 1); got != "w41" {
		t.Errorf("gpu2 to gpu1, waived: %q", got)
	}
}

// cellOf is a cell of the matrix of a check, by row and column.
func cellOf(p page, check, row string, column int) string {
	p.t.Helper()
	for _, d := range all(p.section("figures"), "details") {
		if !strings.HasPrefix(content(d), check+",") {
			continue
		}
		for _, tr := range all(d, "tr") {
			heads, cells := all(tr, "th"), all(tr, "td")
			if len(heads) == 1 && content(heads[0]) == row && column < len(cells) {
				return content(cells[column])
			}
		}
	}
	p.t.Fatalf("no matrix of %s with %s", check, row)
	return ""
}

// Each mark stands in the title, the heading, a banner, and on each page.
func TestMarks(t *testing.T) {
	for _, tt := range []struct {
		simulated, loopback bool
		want                string
	}{{true, false, "SIMULATED"}, {false, true, "LOOPBACK"}, {true, true, "SIMULATED LOOPBACK"}, {false, false, ""}} {
		r := build(t, sample.Broken())
		r.Run.Simulated, r.Run.Loopback = tt.simulated, tt.loopback
		document := write(t, r)
		p := parse(t, document)
		if tt.want == "" {
			if found := regexp.MustCompile("SIMULATED|LOOPBACK").FindString(document); found != "" {
				t.Errorf("a real run says %s", found)
			}
			continue
		}
		for _, place := range []string{content(all(p.root, "title")[0]), content(all(p.root, "h1")[0])} {
			if !strings.HasPrefix(place, tt.want) {
				t.Errorf("%q does not begin with %s", place, tt.want)
			}
		}
		banners := 0
		for _, n := range all(p.root, "div") {
			if class := attribute(n, "class"); (class == "marks" || class == "water") && strings.HasPrefix(content(n), tt.want) {
				banners++
			}
		}
		if banners != 2 {
			t.Errorf("%d banners of %s", banners, tt.want)
		}
	}
}

// Warnings come before the findings.
func TestWarnings(t *testing.T) {
	lines := strings.SplitAfter(sample.Broken().String(), "\n")
	r, err := report.Build(strings.NewReader(strings.Join(lines[:len(lines)-6], "")))
	if err != nil {
		t.Fatal(err)
	}
	document := write(t, r)
	warning, first := strings.Index(document, "the run was cut off"), strings.Index(document, `id="first"`)
	if warning < 0 || warning > first {
		t.Errorf("the warning stands at %d, the findings at %d", warning, first)
	}
	if p := parse(t, document); !strings.Contains(content(p.section("first")), "the run stopped before these specs") {
		t.Error("no finding of specs that were not run")
	}
}

// Nothing tested, nothing found, nothing known: there is a document still.
func TestEmpty(t *testing.T) {
	for name, r := range map[string]*report.Results{
		"nothing": {},
		"no GPU": {Verdict: verdict.Skip, Node: sample.Node(0), Counts: report.Counts{Skip: 1}, Specs: []report.Spec{
			{ID: "a/b", Verdict: verdict.Skip, Code: verdict.NoGPU, Message: "neither PCI nor NVML lists a GPU"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := parse(t, write(t, r))
			p.sound()
			if name == "no GPU" && !strings.Contains(content(p.section("first")), "neither PCI nor NVML lists a GPU") {
				t.Error("it does not say why nothing was tested")
			}
		})
	}
}

// Attempts, Xids and kernel lines stand with their failure.
func TestEvidence(t *testing.T) {
	j := new(sample.Journal)
	j.Add(journal.Event{Type: journal.TypeRun, Run: sample.Run()})
	j.Add(journal.Event{Type: journal.TypeNode, Node: sample.Node(2)})
	j.Check("health/xid", "no Xid", nil, "gpu0", "gpu1")
	j.Add(journal.Event{Type: journal.TypeXid, Xid: &topology.Xid{
		BusID: "0000:19:00", Code: 79, Source: topology.FromKernelLog, Text: "GPU has fallen off the bus.", Specs: []string{"health/xid[gpu1]"},
	}})
	bad := verdict.Failf("xid", "Xid 79")
	j.Spec("health/xid[gpu0]", sample.Pass)
	j.Spec("health/xid[gpu1]", &bad)
	r := build(t, j.Finish("done", 1))
	if len(r.Xids) != 1 {
		t.Fatalf("%d Xids in the results", len(r.Xids))
	}
	r.Specs[1].Attempts = []report.Attempt{{Verdict: verdict.Fail, Code: "xid", Message: "one"}, {Verdict: verdict.Pass}, {Verdict: verdict.Fail, Code: "xid", Message: "three"}}
	got := content(parse(t, write(t, r)).section("failures"))
	for _, want := range []string{"2 of 3 attempts", "Xid 79 of 0000:19:00, kernel log: GPU has fallen off the bus.", "✓ pass", "three"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}
