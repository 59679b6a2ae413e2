// Package readable says for tests whether the readers of a document accept it.
package readable

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Limits of JUnit's readers, in bytes: GitLab's of a file, libxml2's of a text.
const (
	maxJUnit = 30_000_000
	maxNode  = 10_000_000
)

var fixedPoint = regexp.MustCompile(`^\d+\.\d{3}$`)

// JUnit says what GitLab or Jenkins would not read, or would read as something
// else than was meant.
func JUnit(text []byte) error {
	if len(text) >= maxJUnit {
		return fmt.Errorf("%d bytes, GitLab reads files below 30 MB", len(text))
	}
	if err := Plain(text); err != nil {
		return err
	}
	r := junitReader{suites: map[string]bool{}, cases: map[[2]string]bool{}}
	if err := elements(text, r.start, r.end); err != nil {
		return err
	}
	if len(r.suites) == 0 {
		return errors.New("no suite: GitLab needs one level at least")
	}
	return nil
}

// elements calls start and end for each element, with the names of those it is
// in, itself last, and its text.
func elements(text []byte, start func(path []string, attributes map[string]string) error, end func(path []string, text string) error) error {
	dec := xml.NewDecoder(bytes.NewReader(text))
	var path []string
	var inside bytes.Buffer
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
			path = append(path, tok.Name.Local)
			inside.Reset()
			attributes := map[string]string{}
			for _, a := range tok.Attr {
				if _, twice := attributes[a.Name.Local]; twice {
					return fmt.Errorf("%s has the attribute %s twice", tok.Name.Local, a.Name.Local)
				}
				if len(a.Value) > maxNode {
					return fmt.Errorf("the attribute %s has %d bytes", a.Name.Local, len(a.Value))
				}
				attributes[a.Name.Local] = a.Value
			}
			if err := start(path, attributes); err != nil {
				return err
			}
		case xml.CharData:
			if len(tok) > maxNode {
				return fmt.Errorf("a text of %d bytes, libxml2 reads 10 MB", len(tok))
			}
			inside.Write(tok)
		case xml.EndElement:
			if err := end(path, inside.String()); err != nil {
				return err
			}
			path = path[:len(path)-1]
		}
	}
}

// junitReader keeps what the rules need of the elements seen so far.
type junitReader struct {
	suites   map[string]bool
	cases    map[[2]string]bool
	suite    map[string]string // attributes
	counts   map[string]int    // elements of the suite
	name     string            // of the case
	outcomes int               // of the case
}

var inside = map[string]string{
	"testsuites": "", "testsuite": "testsuites", "testcase": "testsuite", "property": "properties",
	"failure": "testcase", "error": "testcase", "skipped": "testcase",
}

func (r *junitReader) start(path []string, attributes map[string]string) error {
	name, parent := path[len(path)-1], ""
	if len(path) > 1 {
		parent = path[len(path)-2]
	}
	want, known := inside[name]
	switch {
	case known && want != parent:
		return fmt.Errorf("<%s> in <%s>: Jenkins ignores nested suites", name, parent)
	case !known && (name != "properties" || parent != "testsuite" && parent != "testcase"):
		return fmt.Errorf("unknown element <%s> in <%s>", name, parent)
	}
	if time, said := attributes["time"]; said && !fixedPoint.MatchString(time) {
		return fmt.Errorf("time %q of a %s is not in fixed point", time, name)
	}
	switch name {
	case "testsuite":
		if r.suites[attributes["name"]] {
			return fmt.Errorf("two suites are called %q: Jenkins merges them", attributes["name"])
		}
		r.suites[attributes["name"]] = true
		r.suite, r.counts = attributes, map[string]int{}
	case "testcase":
		key := [2]string{attributes["classname"], attributes["name"]}
		if key[0] == "" || key[1] == "" {
			return fmt.Errorf("a case without class or name: %q", key)
		}
		if r.cases[key] {
			return fmt.Errorf("two cases are %q: GitLab keeps one of them", key)
		}
		r.cases[key] = true
		r.name, r.outcomes = key[1], 0
		r.counts["tests"]++
	case "failure", "error", "skipped":
		if r.outcomes++; r.outcomes > 1 {
			return fmt.Errorf("%s has two outcomes: Jenkins takes skipped, GitLab failure", r.name)
		}
		r.counts[map[string]string{"failure": "failures", "error": "errors", "skipped": "skipped"}[name]]++
	}
	return nil
}

func (r *junitReader) end(path []string, text string) error {
	switch path[len(path)-1] {
	case "skipped":
		if strings.TrimSpace(text) == "" {
			return fmt.Errorf("%s is skipped with an empty body, and that is what GitLab shows", r.name)
		}
	case "testsuite":
		for _, total := range []string{"tests", "failures", "errors", "skipped"} {
			if said, ok := r.suite[total]; ok && said != strconv.Itoa(r.counts[total]) {
				return fmt.Errorf("suite %q says %s=%s and has %d", r.suite["name"], total, said, r.counts[total])
			}
		}
	}
	return nil
}

// allowed is what the schema of Jenkins' xunit plugin (junit-10.xsd) lets stand
// where, of what this program could write.
var allowed = map[string]struct{ in, required, attributes []string }{
	"testsuites": {nil, nil, []string{"name", "time", "tests", "failures", "errors"}},
	"testsuite": {
		[]string{"testsuites", "testsuite"},
		[]string{"name", "tests", "failures", "errors"},
		[]string{"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url", "version"},
	},
	"properties": {[]string{"testsuite"}, nil, nil},
	"property":   {[]string{"properties"}, []string{"name", "value"}, nil},
	"testcase":   {[]string{"testsuite"}, []string{"name"}, []string{"time", "classname", "group"}},
	"failure":    {[]string{"testcase"}, nil, []string{"type", "message"}},
	"error":      {[]string{"testcase"}, nil, []string{"type", "message"}},
	"skipped":    {[]string{"testcase"}, nil, []string{"type", "message"}},
}

// Strict says what the strict schema does not allow.
func Strict(text []byte) error {
	return elements(text, func(path []string, attributes map[string]string) error {
		name := path[len(path)-1]
		rule, known := allowed[name]
		if !known {
			return fmt.Errorf("strict: unknown element <%s>", name)
		}
		if len(path) > 1 && !slices.Contains(rule.in, path[len(path)-2]) {
			return fmt.Errorf("strict: <%s> in <%s>", name, path[len(path)-2])
		}
		for _, a := range rule.required {
			if _, ok := attributes[a]; !ok {
				return fmt.Errorf("strict: <%s> lacks %s", name, a)
			}
		}
		for a := range attributes {
			if !slices.Contains(rule.required, a) && !slices.Contains(rule.attributes, a) {
				return fmt.Errorf("strict: <%s> has the attribute %s", name, a)
			}
		}
		return nil
	}, func([]string, string) error { return nil })
}
