package junit

import (
	"encoding/hex"
	"encoding/xml"
	"hash/fnv"
	"io"
	"strings"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

// level is how much of a case is told.
type level int

const (
	full   level = iota // text and properties
	line                // one line
	bare                // the code alone, or nothing of a case that passed
	levels              // their number
)

const (
	maxLine = 200 // bytes of the line of a case that is told on one
	maxCode = 100 // of the code of a bare case
	// What tags and spaces take of a bare case, and of its outcome.
	caseFrame    = len(`<testcase name="" classname="" time=""></testcase>` + "\n")
	failureFrame = len(`<failure type=""/>`)
	skippedFrame = len(`<skipped message=""></skipped>`)
	indentFrame  = len("\n  \n   \n  ")
)

// budget is how many bytes are left for the text of cases, beyond what every
// case takes: those that did not pass in full, on a line, and those that did.
type budget struct{ full, line, passed int }

// plan divides what the limit of a file leaves. The first cases of the plan
// are told best: causes stand before their consequences.
func (d *document) plan() {
	d.class = d.host
	if d.large() {
		d.class = abbreviated(d.host, maxClass)
	}
	left := d.left()
	if left < 0 {
		d.class = abbreviated(d.host, 0)
		left = max(0, d.left())
	}
	d.room = budget{full: left / 2, line: left / 4, passed: left / 4}
}

// left is how many bytes of a file bare cases do not take.
func (d *document) left() int {
	left, class := maxFile, escaped(d.class)
	if !d.large() {
		left -= indentFrame * len(d.results.Specs)
	}
	for i := range d.results.Specs {
		s := &d.results.Specs[i]
		left -= caseFrame + escaped(s.ID) + class + len(".") + len(s.Area()) + len(seconds(s.Duration))
		switch code := min(len(s.Code), maxCode); s.Verdict {
		case verdict.Pass:
		case verdict.Fail, verdict.Error:
			left -= failureFrame + code
		default:
			left -= skippedFrame + 2*code
		}
	}
	return left
}

// fitting is a case at the level that there is room for.
func (d *document) fitting(s *report.Spec, area string) (testcase, level) {
	passed := s.Verdict == verdict.Pass
	for _, try := range []struct {
		level level
		room  *int
		skip  bool
	}{
		{full, &d.room.full, passed},
		{full, &d.room.passed, !passed || d.large() || d.strict},
		{line, &d.room.line, passed},
	} {
		if try.skip || *try.room <= 0 {
			continue
		}
		c := d.testcase(s, area, try.level)
		if cost := size(&c); cost <= *try.room {
			*try.room -= cost
			return c, try.level
		}
		*try.room = 0 // the next ones are not even tried
	}
	return d.testcase(s, area, bare), bare
}

// bare takes all but the code from a case, and writes that in few bytes.
func (d *document) bare(c *testcase) {
	element, code := "", ""
	switch {
	case c.Failure != nil:
		element, code = "failure", c.Failure.Type
	case c.Error != nil:
		element, code = "error", c.Error.Type
	case c.Skipped != nil:
		element, code = "skipped", codeOf(c.Skipped.Message)
	}
	c.Failure, c.Error, c.Skipped = nil, nil, nil
	if !d.large() && element == "" {
		return
	}
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(report.Cut(code, maxCode, "…"))) // a Builder never fails
	switch code = b.String(); element {
	case "":
		c.Inner = "\n"
	case "skipped": // of which GitLab shows the body
		c.Inner = `<skipped message="` + code + `">` + code + "</skipped>\n"
	default:
		c.Inner = "<" + element + ` type="` + code + "\"/>\n"
	}
}

// codeOf is the code at the beginning of a skipped case's message.
func codeOf(message string) string {
	if strings.HasPrefix(message, "waived: ") {
		return "waived"
	}
	code, _, _ := strings.Cut(message, ":")
	return code
}

// counter counts what is written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// size is the length of a case's XML, in bytes.
func size(c *testcase) int {
	var n counter
	if err := xml.NewEncoder(&n).Encode(c); err != nil {
		return maxFile // Write will say what is wrong with it
	}
	return int(n)
}

// escaped is the length of a text in an attribute.
func escaped(text string) int {
	var n counter
	_ = xml.EscapeText(&n, []byte(text)) // a counter never fails
	return int(n)
}

// maxClass is how long the host's name may be in the class name of each of
// 180,000 cases.
const maxClass = 20

// abbreviated is a host's name in so many bytes, or in those of a hash, and
// still another one than that of any other host.
func abbreviated(host string, limit int) string {
	if len(host) <= limit {
		return host
	}
	h := fnv.New32a()
	_, _ = io.WriteString(h, host) // a hash never fails
	sum := "~" + hex.EncodeToString(h.Sum(nil))
	return report.Cut(host, limit-len(sum), "") + sum
}
