package ocp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/internal/readable"
	"github.com/peerproof/peerproof/report/internal/sample"
	"github.com/peerproof/peerproof/report/ocp"
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
	if err := ocp.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	got := write(t, broken(t))
	golden := filepath.Join("testdata", "broken.jsonl")
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
		t.Errorf("output (-want +got):\n%s", diff)
	}
	if err := readable.OCP(got); err != nil {
		t.Error(err)
	}
}

// artifacts finds the artifacts of a kind, whatever they stand in.
func artifacts(t *testing.T, text []byte, kind string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range bytes.Lines(text) {
		var loose map[string]any
		if err := json.Unmarshal(line, &loose); err != nil {
			t.Fatal(err)
		}
		for _, in := range loose {
			if m, ok := in.(map[string]any); ok {
				if a, ok := m[kind].(map[string]any); ok {
					all = append(all, a)
				}
			}
		}
	}
	return all
}

func TestContent(t *testing.T) {
	r := broken(t)
	text := write(t, r)
	start := artifacts(t, text, "testRunStart")[0]
	if name := start["name"]; name != "SIMULATED peerproof" {
		t.Errorf("the run is called %q", name)
	}
	hardware := start["dutInfo"].(map[string]any)["hardwareInfos"].([]any)
	if g := hardware[1].(map[string]any); g["serialNumber"] != "1650001" || g["location"] != "0000:19:00.0" {
		t.Errorf("gpu1 is %v", g)
	}
	types := map[any]int{}
	for _, d := range artifacts(t, text, "diagnosis") {
		types[d["type"]]++
	}
	want := map[any]int{"PASS": r.Counts.Pass, "FAIL": r.Counts.Fail, "UNKNOWN": r.Counts.Error + r.Counts.Waived}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("diagnoses (-want +got):\n%s", diff)
	}
	if n := len(artifacts(t, text, "error")); n != r.Counts.Error {
		t.Errorf("%d errors of %d", n, r.Counts.Error)
	}
	slow := artifacts(t, text, "measurement")[1]
	if slow["value"] != 38.2 || slow["hardwareInfoId"] != "0" || !strings.Contains(fmt.Sprint(slow["validators"]), "44.1") || !strings.Contains(fmt.Sprint(slow["subcomponent"]), "gpu0 to gpu1") {
		t.Errorf("measurement %v", slow)
	}
}

func TestEnds(t *testing.T) {
	one := func(v verdict.Verdict, exit int) *report.Results {
		r := &report.Results{Exit: exit, Specs: []report.Spec{{ID: "a/b", Verdict: v, Code: "c"}}}
		r.Counts.Add(v)
		r.Verdict = r.Counts.Verdict()
		return r
	}
	for _, c := range []struct {
		results *report.Results
		want    string
	}{
		{one(verdict.Pass, 0), "COMPLETE PASS"},
		{one(verdict.Waived, 0), "COMPLETE PASS"},
		{one(verdict.Fail, 1), "COMPLETE FAIL"},
		{one(verdict.Fail, 2), "COMPLETE FAIL"},
		{one(verdict.Error, 1), "ERROR NOT_APPLICABLE"},
		{one(verdict.Error, 2), "SKIP NOT_APPLICABLE"},
		{one(verdict.Skip, 5), "SKIP NOT_APPLICABLE"},
		{&report.Results{Verdict: verdict.Skip, Exit: 5}, "SKIP NOT_APPLICABLE"},
	} {
		text := write(t, c.results)
		if err := readable.OCP(text); err != nil {
			t.Errorf("%s: %v", c.want, err)
		}
		end := artifacts(t, text, "testRunEnd")[0]
		if got := fmt.Sprint(end["status"], " ", end["result"]); got != c.want {
			t.Errorf("%s %d ends %s, want %s", c.results.Verdict, c.results.Exit, got, c.want)
		}
	}
}

// A rack of 72 GPUs on which everything failed stays a file that can be kept.
func TestRack(t *testing.T) {
	if sample.Raced {
		t.Skip("make test runs it without the race detector")
	}
	r := &report.Results{Verdict: verdict.Fail, Exit: 1}
	for c := range 35 {
		for i := range 72 * 71 {
			s := report.Spec{
				ID: fmt.Sprintf("bandwidth/check-%d[gpu%d->gpu%d]", c, i/71, i%71), Verdict: verdict.Pass,
				Measurements: []verdict.Measurement{sample.Bandwidth(54)},
			}
			if c > 0 {
				s.Verdict, s.Code, s.Message, s.Hint = verdict.Fail, "below-floor", strings.Repeat("much text ", 500), strings.Repeat("hint ", 50)
			}
			r.Specs = append(r.Specs, s)
			r.Counts.Add(s.Verdict)
		}
	}
	text := write(t, r)
	if len(text) > 30_000_000 {
		t.Errorf("%d bytes", len(text))
	}
	if err := readable.OCP(text); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"5112 specs of bandwidth/check-0 passed", "4912 specs of bandwidth/check-1 failed too"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("nothing says that %s", want)
		}
	}
}

func TestHostileText(t *testing.T) {
	text := rapid.OneOf(
		rapid.SampledFrom([]string{"\"", "a\nb", "\x1b[31m", "\x00", "\xff", "\u202e", "\u2028", "</script>", strings.Repeat("é", 9_000), ""}),
		rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) string { return text.Draw(rt, name) + text.Draw(rt, name+" more") }
		node := sample.Node(1)
		node.Host.Kernel, node.Host.Product, node.Driver.NVML, node.GPUs[0].VBIOS = draw("kernel"), draw("product"), draw("nvml"), draw("vbios")
		v := rapid.SampledFrom([]verdict.Verdict{verdict.Pass, verdict.Fail, verdict.Error, verdict.Skip, verdict.Waived}).Draw(rt, "verdict")
		r := &report.Results{
			Node: node,
			Run: report.Run{
				ID: draw("id"), Tool: draw("tool"), Host: draw("host"), Serial: draw("serial"), Profile: draw("profile"), Node: draw("node"),
				Args: []string{draw("argument")}, Simulated: true, Loopback: true,
			},
			GPUs:     []report.GPU{{Slot: "gpu0", Model: draw("model"), Serial: draw("serial of GPU"), BusID: draw("bus id")}},
			Warnings: []string{draw("warning")},
			Specs: []report.Spec{{
				ID: "a/b[gpu0]", Verdict: v, Code: draw("code"), Message: draw("message"), Hint: draw("hint"), Path: draw("path"),
				Subject:      &report.Subject{GPU: "gpu0"},
				Measurements: []verdict.Measurement{{Name: draw("name"), Value: 1, Unit: draw("unit"), Floor: 2}},
				Waiver:       &report.Waiver{Spec: draw("pattern"), Reason: draw("reason"), Owner: draw("owner"), Expires: draw("expires")},
			}},
		}
		r.Counts.Add(v)
		r.Verdict = r.Counts.Verdict()
		got := write(rt, r)
		if err := readable.OCP(got); err != nil {
			rt.Fatal(err)
		}
		if len(got) > 64<<10 {
			rt.Fatalf("%d bytes", len(got))
		}
	})
}

// What the specification forbids must be refused here too.
func TestReadableRefuses(t *testing.T) {
	good := string(write(t, broken(t)))
	for name, change := range map[string][2]string{
		"a lost line":          {`"sequenceNumber":3`, `"sequenceNumber":4`},
		"another version":      {`"schemaVersion"`, `"version"`},
		"unknown verdict":      {`"type":"FAIL"`, `"type":"BAD"`},
		"unknown hardware":     {`"hardwareInfoId":"2","subcomponent"`, `"hardwareInfoId":"9","subcomponent"`},
		"unknown key":          {`"verdict":"pass"`, `"verdict":"pass","code":"x"`},
		"no verdict":           {`"verdict":"pass",`, ""},
		"an impossible end":    {`"status":"COMPLETE","result":"FAIL"`, `"status":"ERROR","result":"FAIL"`},
		"a pass with failures": {`"result":"FAIL"`, `"result":"PASS"`},
		"a time without zone":  {`Z"}`, `"}`},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		if text == good {
			t.Errorf("%s changes nothing", name)
		}
		if readable.OCP([]byte(text)) == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("no") }

func TestWriteFails(t *testing.T) {
	if err := ocp.Write(brokenPipe{}, broken(t)); err == nil {
		t.Error("a failed write is no error")
	}
}

// Python's parser is a second one.
func TestReadByPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	cmd := exec.Command(python, "-c", `
import json, sys
lines = [json.loads(line) for line in sys.stdin]
print([l["sequenceNumber"] for l in lines] == list(range(len(lines))), len([l for l in lines if "diagnosis" in l.get("testStepArtifact", {})]))`)
	cmd.Stdin = bytes.NewReader(write(t, broken(t)))
	out, err := cmd.CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "True 13" {
		t.Errorf("%v: %s", err, got)
	}
}
