package junit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/internal/readable"
	"github.com/peerproof/peerproof/report/internal/sample"
	"github.com/peerproof/peerproof/report/junit"
)

func writeStrict(t interface{ Fatal(...any) }, r *report.Results) []byte {
	var b strings.Builder
	if err := junit.WriteStrict(&b, r); err != nil {
		t.Fatal(err)
	}
	return []byte(b.String())
}

func TestReaders(t *testing.T) {
	r := broken(t)
	for name, check := range map[string]error{
		"as it is":           readable.JUnit(write(t, r)),
		"strict":             readable.JUnit(writeStrict(t, r)),
		"strict by its name": readable.Strict(writeStrict(t, r)),
	} {
		if check != nil {
			t.Errorf("%s: %v", name, check)
		}
	}
	if readable.Strict(write(t, r)) == nil {
		t.Error("properties in cases pass for strict")
	}
	if got := string(writeStrict(t, r)); !strings.Contains(got, "38.2 GB/s") || !strings.Contains(got, "165") {
		t.Error("the strict report lacks figure or serial number")
	}
}

// rack is a run of checks on all pairs of 72 GPUs, that all ended alike; 35 of
// them are 178,920 specs.
func rack(checks int, o report.Spec, host string) *report.Results {
	r := &report.Results{Run: report.Run{Host: host, ID: "r", Started: time.Unix(1e9, 0), Ended: time.Unix(1e9+1, 0)}}
	for g := range 72 {
		r.GPUs = append(r.GPUs, report.GPU{Slot: fmt.Sprintf("gpu%d", g), Serial: "1650000000000", UUID: strings.Repeat("u", 40)})
	}
	for c := range checks {
		for a := range 72 {
			for b := range 72 {
				if a == b {
					continue
				}
				s := o
				s.Subject = &report.Subject{From: fmt.Sprintf("gpu%d", a), To: fmt.Sprintf("gpu%d", b)}
				s.ID = fmt.Sprintf("bandwidth%d/bidirectional-ce-%d[gpu%d->gpu%d]", c%9, c, a, b)
				r.Specs = append(r.Specs, s)
				r.Counts.Add(s.Verdict)
			}
		}
	}
	return r
}

// GitLab reads no file above 30 MB, also where everything failed.
func TestRackStaysBelowGitLabsLimit(t *testing.T) {
	if sample.Raced {
		t.Skip("make test runs it without the race detector")
	}
	long := strings.Repeat("a message as long as hostile ones are & with <markup> ", 20)
	figures := []verdict.Measurement{{Name: "bandwidth", Value: 38.2, Unit: "GB/s", Floor: 44.1, Theoretical: 63, Samples: []float64{38, 38.2, 39, 40, 41}}}
	for _, c := range []struct {
		name   string
		checks int
		host   string
		spec   report.Spec
	}{
		{"passed", 5, "a-name-as-long-as-linux-allows-them-" + strings.Repeat("x", 28), report.Spec{Verdict: verdict.Pass, Duration: 0.5, Measurements: figures}},
		{"failed", 35, "a-name-as-long-as-linux-allows-them-" + strings.Repeat("x", 28), report.Spec{Verdict: verdict.Fail, Code: "requirement-not-met", Message: long, Hint: long, Duration: 0.5, Measurements: figures}},
		{"skipped", 5, "node-17", report.Spec{Verdict: verdict.Skip, Code: "no-gpu", Message: long}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rack(c.checks, c.spec, c.host)
			text := write(t, r)
			t.Logf("%d specs, %d bytes", len(r.Specs), len(text))
			if err := readable.JUnit(text); err != nil {
				t.Error(err)
			}
			if n := strings.Count(string(text), "<testcase "); n != len(r.Specs) {
				t.Errorf("%d cases of %d specs", n, len(r.Specs))
			}
			if each := len(text) / len(r.Specs); each > 165 && c.checks < 35 && c.spec.Verdict == verdict.Pass {
				t.Errorf("%d bytes a spec", each)
			}
			if c.checks < 35 {
				return
			}
			if n := strings.Count(string(text), "as long as hostile"); n < 20 {
				t.Errorf("only %d texts are told", n)
			}
			if !strings.Contains(string(text), "by their code alone") {
				t.Error("no suite says that text was left out")
			}
		})
	}
}

// Many long texts in a run that is not large would exceed it as well.
func TestManyLongTexts(t *testing.T) {
	if sample.Raced {
		t.Skip("make test runs it without the race detector")
	}
	r := broken(t)
	for i := range 3_000 {
		r.Specs = append(r.Specs, report.Spec{
			ID: fmt.Sprintf("inventory/model[gpu%d]", 100+i), Verdict: verdict.Fail, Code: "wrong-model", Message: strings.Repeat("many\nlines ", 10_000),
		})
		r.Counts.Add(verdict.Fail)
	}
	for range 50_000 {
		r.Warnings = append(r.Warnings, strings.Repeat("warning ", 100))
	}
	if err := readable.JUnit(write(t, r)); err != nil {
		t.Error(err)
	}
}

// What a reader refuses must be refused here too.
func TestReadableRefuses(t *testing.T) {
	const good = `<testsuites><testsuite name="a" tests="1" failures="0" errors="0" time="0.000"><testcase name="n" classname="c" time="0.000"><skipped message="m">m</skipped></testcase></testsuite></testsuites>`
	if err := readable.JUnit([]byte(good)); err != nil {
		t.Fatal(err)
	}
	if err := readable.Strict([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"no suite":            {`<testsuite name="a" tests="1" failures="0" errors="0" time="0.000">`, ""},
		"nested suite":        {"<testcase ", `<testsuite name="b"></testsuite><testcase `},
		"skipped and failure": {"<skipped", "<failure></failure><skipped"},
		"skipped without a body": {
			">m<", "><",
		},
		"a case twice":          {"</testsuite>", `<testcase name="n" classname="c" time="0.000"></testcase></testsuite>`},
		"a suite twice":         {"</testsuites>", `<testsuite name="a" tests="0" failures="0" errors="0"></testsuite></testsuites>`},
		"an ESC byte":           {">m<", ">\x1b<"},
		"a mark of direction":   {">m<", ">\u202e<"},
		"an exponent":           {`time="0.000"><skipped`, `time="8.4e-05"><skipped`},
		"no class":              {`classname="c"`, `classname=""`},
		"a wrong total":         {`tests="1"`, `tests="2"`},
		"a total that is wrong": {`failures="0"`, `failures="1"`},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		if name == "no suite" {
			text = strings.Replace(text, "</testsuite>", "", 1)
		}
		if text == good {
			t.Fatalf("%s changes nothing", name)
		}
		if readable.JUnit([]byte(text)) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	for name, change := range map[string][2]string{
		"properties of a case": {"<skipped", "<properties></properties><skipped"},
		"total of skipped":     {"<testsuites", `<testsuites skipped="1"`},
		"unknown attribute":    {`name="n"`, `name="n" status="x"`},
		"no errors":            {`errors="0"`, ""},
	} {
		if readable.Strict([]byte(strings.Replace(good, change[0], change[1], 1))) == nil {
			t.Errorf("strict accepts %s", name)
		}
	}
}
