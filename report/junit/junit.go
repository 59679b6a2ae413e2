// Package junit writes a run's results as JUnit XML, for GitLab, Jenkins and
// other readers of that format.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

// Limits that keep a file readable by GitLab (30 MB) and libxml2.
const (
	// maxFile bounds the file, in bytes.
	maxFile = 29_500_000
	// maxCases is the number of cases above which only those that did not
	// pass have properties, and lines are not indented.
	maxCases    = 20_000
	maxWarnings = 20       // of each suite
	maxText     = 64 << 10 // bytes of text of one case
	maxMessage  = 1 << 10  // of one of its lines, and of the message attribute
	maxName     = 256      // of what the node calls itself
)

// testcase adds to the library's case the properties that it does not know.
// Readers want them first.
type testcase struct {
	Properties *[]junit.Property `xml:"properties>property,omitempty"`
	junit.Testcase
	// Inner is XML of its own, for what need not cost the bytes that the
	// encoder spends.
	Inner string `xml:",innerxml"`
}

// testsuite holds such cases; the field hides the library's, which stays nil.
type testsuite struct {
	junit.Testsuite
	Cases []testcase `xml:"testcase,omitempty"`
}

// Write writes the XML: one suite an area, one case a spec.
func Write(w io.Writer, r *report.Results) error { return newDocument(r, false).write(w) }

// WriteStrict writes what the schema of Jenkins' xunit plugin (junit-10.xsd)
// allows: as Write, without properties in cases and without the total of
// skipped cases.
func WriteStrict(w io.Writer, r *report.Results) error { return newDocument(r, true).write(w) }

// document is one file being written.
type document struct {
	results *report.Results
	strict  bool
	host    string
	class   string                 // host in a case's class name
	gpus    map[string]*report.GPU // by slot name
	room    budget
}

func newDocument(r *report.Results, strict bool) *document {
	d := &document{
		results: r, strict: strict, gpus: map[string]*report.GPU{},
		host: orElse(report.Cut(report.Line(r.Run.Host), maxName, "…"), "unknown-host"),
	}
	for i := range r.GPUs {
		d.gpus[r.GPUs[i].Slot] = &r.GPUs[i]
	}
	d.plan()
	return d
}

// large says that every byte of a case counts.
func (d *document) large() bool { return len(d.results.Specs) > maxCases }

// write keeps one suite at a time in memory.
func (d *document) write(w io.Writer) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	if !d.large() {
		enc.Indent("", " ")
	}
	root := d.root()
	if err := enc.EncodeToken(root); err != nil {
		return err
	}
	for i, area := range areas(d.results.Specs) {
		suite := d.suite(i, area)
		if err := enc.EncodeElement(suite, xml.StartElement{Name: xml.Name{Local: "testsuite"}}); err != nil {
			return fmt.Errorf("encode suite %s: %w", area.name, err)
		}
	}
	if err := enc.EncodeToken(root.End()); err != nil {
		return err
	}
	if err := enc.Close(); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// root is the outermost element, with the totals of the library's Testsuites.
func (d *document) root() xml.StartElement {
	r := d.results
	name := "peerproof " + d.host
	if marks := r.Run.Marks(); marks != "" {
		name = marks + " " + name
	}
	attr := func(name, value string) xml.Attr { return xml.Attr{Name: xml.Name{Local: name}, Value: value} }
	root := xml.StartElement{Name: xml.Name{Local: "testsuites"}, Attr: []xml.Attr{
		attr("name", name),
		attr("time", seconds(r.Run.Took().Seconds())),
		attr("tests", strconv.Itoa(r.Counts.Total())),
		attr("errors", strconv.Itoa(r.Counts.Error)),
		attr("failures", strconv.Itoa(r.Counts.Fail)),
	}}
	if !d.strict {
		root.Attr = append(root.Attr, attr("skipped", strconv.Itoa(r.Counts.Skip+r.Counts.Waived)))
	}
	return root
}

// area is the specs of one area, by index.
type area struct {
	name  string
	specs []int
}

// areas groups specs; an area stands where its first spec does.
func areas(specs []report.Spec) []area {
	var all []area
	place := map[string]int{}
	for i := range specs {
		name := specs[i].Area()
		at, known := place[name]
		if !known {
			at = len(all)
			place[name] = at
			all = append(all, area{name: name})
		}
		all[at].specs = append(all[at].specs, i)
	}
	return all
}

func (d *document) suite(id int, a area) *testsuite {
	r := d.results
	suite := &testsuite{Testsuite: junit.Testsuite{
		Name: d.host + "." + d.serial() + "." + a.name, ID: id, Hostname: d.host, Package: d.host + "." + a.name,
	}}
	suite.SetTimestamp(r.Run.Started.UTC())
	property := func(name, value string) {
		if value = report.Line(value); value != "" {
			suite.AddProperty(name, report.Cut(value, maxMessage, "…"))
		}
	}
	property("run", r.Run.ID)
	property("tool", r.Run.Tool)
	property("simulated", strconv.FormatBool(r.Run.Simulated))
	property("loopback", strconv.FormatBool(r.Run.Loopback))
	property("marks", r.Run.Marks())
	property("node", r.Run.Node)
	property("profile", r.Run.Profile)
	for i, w := range r.Warnings {
		if i == maxWarnings {
			property("warning", fmt.Sprintf("and %d more in results.json", len(r.Warnings)-i))
			break
		}
		property("warning", w)
	}
	if d.large() && !d.strict {
		property("case-properties", fmt.Sprintf("only cases that did not pass have properties: the run has %d cases, more than %d", len(r.Specs), maxCases))
	}
	told := [levels]int{}
	total := 0.0
	for _, i := range a.specs {
		s := &r.Specs[i]
		total += s.Duration
		c, level := d.fitting(s, a.name)
		if s.Verdict != verdict.Pass {
			told[level]++
		}
		suite.AddTestcase(c.Testcase) // for its counters
		if level == bare {
			d.bare(&c)
		}
		suite.Testcases = suite.Testcases[:0]
		suite.Cases = append(suite.Cases, c)
	}
	if told[line]+told[bare] > 0 {
		property("case-detail", fmt.Sprintf("%d cases that did not pass are told in full here, %d on one line and %d by their code alone, to keep the file below 30 MB; the others' text is in results.json",
			told[full], told[line], told[bare]))
	}
	suite.Testcases = nil // hidden by Cases, and not to be written
	suite.Time = seconds(total)
	return suite
}

// serial tells this server from another one of the same name.
func (d *document) serial() string {
	serial := d.results.Run.Serial
	for i := range d.results.GPUs {
		g := &d.results.GPUs[i]
		serial = orElse(serial, orElse(g.Serial, g.UUID))
	}
	return orElse(report.Cut(report.Line(serial), maxName, "…"), "no-serial")
}

// testcase is a case with as much text as a level allows.
func (d *document) testcase(s *report.Spec, area string, level level) testcase {
	c := testcase{Testcase: junit.Testcase{
		Name: report.Line(s.ID), Classname: d.class + "." + area, Time: seconds(s.Duration),
	}}
	if level == full && !d.strict {
		c.Properties = d.properties(s)
	}
	if s.Verdict == verdict.Pass {
		return c
	}
	limit := maxMessage
	if level != full {
		limit = maxLine
	}
	message := report.Cut(report.Headline(s), limit, "…")
	result := &junit.Result{Message: message, Data: message + "\n"}
	if level == full {
		result.Data = d.text(s, maxText-len(message))
	}
	switch s.Verdict {
	case verdict.Fail:
		result.Type = report.Line(s.Code)
		c.Failure = result
	case verdict.Error:
		result.Type = report.Line(s.Code)
		c.Error = result
	case verdict.Waived:
		result.Message = report.Cut("waived: "+excuse(s)+report.Line(s.Code+": "+s.Message), limit, "…")
		c.Skipped = result
	default:
		result.Message = report.Cut(report.Line(s.Code+": "+s.Message), limit, "…")
		c.Skipped = result
	}
	return c
}

// seconds is JUnit's time: fixed point, never 8.4e-05.
func seconds(s float64) string { return strconv.FormatFloat(max(0, s), 'f', 3, 64) }

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
