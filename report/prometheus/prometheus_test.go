package prometheus_test

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"pgregory.net/rapid"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/internal/readable"
	"github.com/peerproof/peerproof/report/internal/sample"
	"github.com/peerproof/peerproof/report/prometheus"
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
	if err := prometheus.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// parse reads a document with Prometheus' own parser.
func parse(t interface{ Fatal(...any) }, text []byte) map[string]*dto.MetricFamily {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range families {
		seen := map[string]bool{}
		for _, m := range f.GetMetric() {
			key := fmt.Sprint(m.GetLabel())
			if seen[key] {
				t.Fatal(name, "has a series twice:", key)
			}
			seen[key] = true
			if m.TimestampMs != nil {
				t.Fatal(name, "has a timestamp, which node_exporter refuses")
			}
		}
	}
	return families
}

func TestGolden(t *testing.T) {
	got := write(t, broken(t))
	golden := filepath.Join("testdata", "broken.prom")
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
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// value is that of the one series that has these labels.
func value(t *testing.T, f *dto.MetricFamily, labels map[string]string) float64 {
	t.Helper()
	found, n := math.NaN(), 0
	for _, m := range f.GetMetric() {
		has := 0
		for _, l := range m.GetLabel() {
			if want, ok := labels[l.GetName()]; ok && want == l.GetValue() {
				has++
			}
		}
		if has == len(labels) {
			found = m.GetGauge().GetValue()
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d series of %s have %v", n, f.GetName(), labels)
	}
	return found
}

func TestReadByPrometheus(t *testing.T) {
	r := broken(t)
	families := parse(t, write(t, r))
	pair := map[string]string{"check": "bandwidth/write-ce", "from": "gpu0", "to": "gpu1", "path": "PIX", "measurement": "bandwidth", "simulated": "true"}
	for _, c := range []struct {
		metric string
		labels map[string]string
		want   float64
	}{
		{"peerproof_bandwidth_bytes_per_second", pair, 38.2e9},
		{"peerproof_bandwidth_floor_bytes_per_second", pair, 44.1e9},
		{"peerproof_bandwidth_theoretical_bytes_per_second", pair, 63e9},
		{"peerproof_latency_seconds", map[string]string{"check": "dereference/read", "measurement": "loads"}, 8.4e-05},
		{"peerproof_specs", map[string]string{"verdict": "fail"}, float64(r.Counts.Fail)},
		{"peerproof_specs", map[string]string{"verdict": "waived"}, 1},
		{"peerproof_run_verdict", map[string]string{"verdict": "fail"}, 1},
		{"peerproof_run_verdict", map[string]string{"verdict": "pass"}, 0},
		{"peerproof_run_exit_code", nil, 1},
		{"peerproof_run_started_timestamp_seconds", nil, float64(r.Run.Started.UnixMilli()) / 1000},
		{"peerproof_run_info", map[string]string{"host": "node-17", "serial": "SN0042"}, 1},
		{"peerproof_gpu_info", map[string]string{"gpu": "gpu1", "serial": "1650001"}, 1},
		{"peerproof_spec_failed", map[string]string{"spec": "bandwidth/write-ce[gpu0->gpu1]", "code": "below-floor", "verdict": "fail"}, 1},
		{"peerproof_spec_waived", map[string]string{"spec": "bandwidth/write-ce[gpu2->gpu1]"}, 1},
	} {
		if got := value(t, families[c.metric], c.labels); math.Abs(got-c.want) > math.Abs(c.want)*1e-12 {
			t.Errorf("%s%v is %v, want %v", c.metric, c.labels, got, c.want)
		}
	}
	if got, want := len(families["peerproof_spec_failed"].GetMetric()), r.Counts.Fail+r.Counts.Error; got != want {
		t.Errorf("%d specs are named as failed, want %d", got, want)
	}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			marked := false
			for _, l := range m.GetLabel() {
				marked = marked || l.GetName() == "simulated" && l.GetValue() == "true"
			}
			if !marked {
				t.Errorf("a series of %s could be taken for a real one: %v", name, m)
			}
		}
	}
}

// promtool is the linter of Prometheus itself.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool here; it is in Debian's package prometheus")
	}
	looped := broken(t)
	looped.Run.Simulated, looped.Run.Loopback = false, true
	for name, r := range map[string]*report.Results{"broken": broken(t), "loopback": looped, "empty": {}} {
		cmd := exec.Command(promtool, "check", "metrics")
		cmd.Stdin = bytes.NewReader(write(t, r))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// A rack costs a scraper no more than it can bear, and what is below its floor
// is there.
func TestManySeries(t *testing.T) {
	r := &report.Results{}
	for i := range 20_000 {
		value := 50.0
		if i == 19_999 {
			value = 1
		}
		r.Specs = append(r.Specs, report.Spec{
			ID: fmt.Sprintf("bandwidth/write-ce[gpu%d->gpu0]", i), Verdict: verdict.Fail, Code: "below-floor",
			Subject:      &report.Subject{From: fmt.Sprintf("gpu%d", i), To: "gpu0"},
			Measurements: []verdict.Measurement{sample.Bandwidth(value)},
		})
	}
	text := write(t, r)
	if len(text) > 8_000_000 {
		t.Errorf("%d bytes", len(text))
	}
	families := parse(t, text)
	worst := map[string]string{"check": "bandwidth/write-ce", "from": "gpu19999"}
	if got := value(t, families["peerproof_bandwidth_bytes_per_second"], worst); got != 1e9 {
		t.Errorf("the slowest pair is %v", got)
	}
	for _, name := range []string{"peerproof_bandwidth_bytes_per_second", "peerproof_spec_failed"} {
		if got := value(t, families["peerproof_series_omitted"], map[string]string{"metric": name}); got != 15_000 {
			t.Errorf("%v series of %s are said to be left out", got, name)
		}
	}
}

func TestHostileText(t *testing.T) {
	text := rapid.OneOf(
		rapid.SampledFrom([]string{"\\", "\"", "a\nb", "\x1b[31m", "\x00", "\xff", "\u202e", "{}=,", "# HELP", strings.Repeat("é", 9_000), ""}),
		rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) string { return text.Draw(rt, name) + text.Draw(rt, name+" more") }
		r := &report.Results{
			Run:  report.Run{ID: draw("id"), Tool: draw("tool"), Host: draw("host"), Serial: draw("serial"), Profile: draw("profile"), Node: draw("node"), Loopback: true},
			GPUs: []report.GPU{{Slot: "gpu0", Model: draw("model"), Serial: draw("serial of GPU"), UUID: draw("uuid")}},
			Specs: []report.Spec{{
				ID: "a/b[gpu0]", Verdict: verdict.Fail, Code: draw("code"), Path: draw("path"), Subject: &report.Subject{GPU: "gpu0"},
				Measurements: []verdict.Measurement{
					{Name: draw("name"), Value: rapid.Float64().Draw(rt, "value"), Unit: "GB/s"},
					{Name: draw("second name"), Value: rapid.Float64().Draw(rt, "second value"), Unit: "ns"},
				},
			}},
		}
		got := write(rt, r)
		if err := readable.Plain(got); err != nil {
			rt.Fatal(err)
		}
		families := parse(rt, got)
		if n := len(families["peerproof_gpu_info"].GetMetric()); n != 1 {
			rt.Fatalf("%d GPUs", n)
		}
		if len(got) > 64<<10 {
			rt.Fatalf("%d bytes", len(got))
		}
	})
}
