package html_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/peerproof/peerproof/report/html"
	"github.com/peerproof/peerproof/report/internal/sample"
)

// browser is Chromium by one of its names, or why the test cannot be.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("Chromium is not installed: it opens and prints the document")
	return ""
}

// chromium runs the browser once, with a profile of its own.
func chromium(t *testing.T, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	all := append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir=" + t.TempDir(),
	}, args...)
	cmd := exec.CommandContext(ctx, browser(t), all...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &log, 10*time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, log.String())
	}
	return out.Bytes()
}

// A real browser keeps the document as it was written, a script-like name is
// text in it, and it prints.
func TestBrowser(t *testing.T) {
	browser(t)
	r := build(t, sample.Broken())
	r.Run.Host = "<script>document.title='PWNED'</script>"
	path := filepath.Join(t.TempDir(), "report.html")
	var b bytes.Buffer
	if err := html.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	dom := parse(t, string(chromium(t, "--dump-dom", "file://"+path)))
	dom.sound()
	if title := content(all(dom.root, "title")[0]); !strings.HasPrefix(title, "SIMULATED peerproof <script>") {
		t.Errorf("title %q", title)
	}
	if got := cellOf(dom, "bandwidth/write-ce", "gpu2", 0); got != "54.3" {
		t.Errorf("gpu2 to gpu0: %q", got)
	}
	pdf := filepath.Join(t.TempDir(), "report.pdf")
	chromium(t, "--no-pdf-header-footer", "--print-to-pdf="+pdf, "file://"+path)
	if data, err := os.ReadFile(pdf); err != nil || !bytes.HasPrefix(data, []byte("%PDF-")) {
		t.Fatalf("no PDF: %v", err)
	}
	text, err := exec.LookPath("pdftotext")
	if err != nil {
		t.Log("pdftotext is not installed: that each page is marked is not looked at")
		return
	}
	out, err := exec.Command(text, pdf, "-").Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, page := range strings.Split(strings.TrimSuffix(string(out), "\f"), "\f") {
		if !strings.Contains(page, "SIMULATED") {
			t.Errorf("page %d of the print is not marked SIMULATED", i+1)
		}
	}
}
