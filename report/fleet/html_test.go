package fleet

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// pageOf writes the page and reads it back as a browser would.
func pageOf(t *testing.T, r *Report) (root *html.Node, text string) {
	t.Helper()
	var out bytes.Buffer
	if err := WriteHTML(&out, r); err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return root, out.String()
}

// content is the text of a page without its style.
func content(n *html.Node) string {
	if n.Type == html.TextNode && (n.Parent == nil || n.Parent.Data != "style") {
		return n.Data
	}
	var all strings.Builder
	for c := range n.ChildNodes() {
		all.WriteString(content(c))
	}
	return all.String()
}

func count(root *html.Node, match func(*html.Node) bool) (n int) {
	for d := range root.Descendants() {
		if d.Type == html.ElementNode && match(d) {
			n++
		}
	}
	return n
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func TestPage(t *testing.T) {
	r := build(troubled())
	root, raw := pageOf(t, r)
	text := content(root)
	for _, want := range []string{
		"MIXED fleet of 11 servers: 10 real, 1 LOOPBACK", "LOOPBACK: in these runs each GPU was its own peer",
		"node1 (serial S1), the server: ", "data-mismatch: 3 specs on 1 server, 1 part", "gpu3, serial G2-3",
		"GPUs that are in two servers", "Serial numbers of more than one server", "runs/earlier (node7, PASS, 2026-02-03",
		"<script>alert(1)</script>", "570.9<script>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if n := count(root, func(n *html.Node) bool { return n.Data == "script" || n.Data == "img" || n.Data == "link" }); n > 0 {
		t.Errorf("%d elements that the page should not have", n)
	}
	if strings.ContainsAny(raw, "\x1b\u202e\u0085\x00") {
		t.Error("characters that steer came through")
	}
	if strings.Contains(raw, "ZgotmplZ") {
		t.Error("the template refused a value")
	}
	ids := map[string]bool{}
	for d := range root.Descendants() {
		if id := attribute(d, "id"); id != "" {
			if ids[id] {
				t.Errorf("id %q twice", id)
			}
			ids[id] = true
		}
	}
	for d := range root.Descendants() {
		for _, a := range d.Attr {
			switch {
			case a.Key == "href" && (!strings.HasPrefix(a.Val, "#") || !ids[a.Val[1:]]):
				t.Errorf("link to %q, which is not on the page", a.Val)
			case a.Key == "src", a.Key == "srcset", strings.HasPrefix(a.Key, "on"):
				t.Errorf("<%s %s=%q>", d.Data, a.Key, a.Val)
			}
		}
	}
	// Every server has a row, every figure of the large kind a plot.
	rows := count(root, func(n *html.Node) bool {
		return n.Data == "td" && strings.HasPrefix(attribute(n, "class"), "v v-") && n.Parent.Data == "tr"
	})
	if rows != 11 {
		t.Errorf("%d rows of servers, want 11", rows)
	}
	if plots := count(root, func(n *html.Node) bool { return n.Data == "svg" && attribute(n, "aria-label") != "" }); plots != len(r.Groups[0].Figures) {
		t.Errorf("%d plots, want %d", plots, len(r.Groups[0].Figures))
	}
	if marks := count(root, func(n *html.Node) bool { return attribute(n, "class") == "mark" }); marks != 4 {
		t.Errorf("%d marks, want 4: bandwidth of three checks and the latency of node1", marks)
	}
}

// The empty report is a page too.
func TestEmptyPage(t *testing.T) {
	root, _ := pageOf(t, build(&Set{series: newCatalogue()}))
	if text := content(root); !strings.Contains(text, "Fleet of 0 servers") || !strings.Contains(text, "None.") {
		t.Errorf("%s", text)
	}
}
