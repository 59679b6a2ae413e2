// Package prometheus writes a run's results in the text format of Prometheus,
// for the textfile collector of node_exporter. Units are Prometheus' base units:
// bytes a second and seconds. Samples carry no timestamps, which the collector
// refuses; when the run was stands in metrics of its own.
package prometheus

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

const (
	// maxSeries bounds the series of one metric: a server that is scraped
	// every 15 seconds should not cost a rack's 46,000 figures.
	maxSeries = 5_000
	maxValue  = 200 // bytes of a label's value
)

// Write writes the metrics. They are a pure function of the results.
func Write(w io.Writer, r *report.Results) error {
	d := document{omitted: map[string]int{}}
	if r.Run.Simulated {
		d.everywhere = append(d.everywhere, label{"simulated", "true"})
		d.out.WriteString("# SIMULATED: no real GPU was tested\n")
	}
	if r.Run.Loopback {
		d.everywhere = append(d.everywhere, label{"loopback", "true"})
		d.out.WriteString("# LOOPBACK: each GPU was its own peer\n")
	}
	d.run(r)
	d.gpus(r.GPUs)
	d.specs(r)
	d.figures(r.Specs)
	d.family("peerproof_series_omitted", "Series left out of a metric because it has too many.")
	for _, name := range d.order {
		if n := d.omitted[name]; n > 0 {
			d.sample("peerproof_series_omitted", float64(n), label{"metric", name})
		}
	}
	_, err := d.out.WriteTo(w)
	return err
}

// label is a label's name and value.
type label struct{ name, value string }

// document is one file being written.
type document struct {
	out        bytes.Buffer
	everywhere []label // on every sample
	order      []string
	omitted    map[string]int // series by metric
}

// family begins a metric, whose samples follow.
func (d *document) family(name, help string) {
	d.order = append(d.order, name)
	fmt.Fprintf(&d.out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
}

// sample writes one series. Labels without a value are left out.
func (d *document) sample(name string, value float64, labels ...label) {
	d.out.WriteString(name)
	between := "{"
	for _, all := range [][]label{labels, d.everywhere} {
		for _, l := range all {
			text := report.Cut(report.Line(l.value), maxValue, "…")
			if text == "" {
				continue
			}
			d.out.WriteString(between + l.name + `="` + escape.Replace(text) + `"`)
			between = ","
		}
	}
	if between == "," {
		d.out.WriteString("}")
	}
	d.out.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

// escape is what the format asks for in a label's value; a line end cannot be
// there any more.
var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func (d *document) run(r *report.Results) {
	d.family("peerproof_run_info", "The run, always 1.")
	d.sample("peerproof_run_info", 1, label{"run", r.Run.ID}, label{"tool", r.Run.Tool}, label{"host", r.Run.Host}, label{"serial", r.Run.Serial},
		label{"node", r.Run.Node}, label{"profile", r.Run.Profile})
	d.family("peerproof_run_started_timestamp_seconds", "When the run began, in seconds since 1970.")
	d.sample("peerproof_run_started_timestamp_seconds", unix(r.Run.Started))
	d.family("peerproof_run_ended_timestamp_seconds", "When the run ended, in seconds since 1970.")
	d.sample("peerproof_run_ended_timestamp_seconds", unix(r.Run.Ended))
	d.family("peerproof_run_verdict", "1 for the verdict of the run, 0 for the others, and for all of a run that proves nothing or still goes on.")
	for _, v := range []verdict.Verdict{verdict.Pass, verdict.Fail, verdict.Error, verdict.Skip} {
		is := 0.0
		if r.Verdict == v && r.Caveat() == "" {
			is = 1
		}
		d.sample("peerproof_run_verdict", is, label{"verdict", string(v)})
	}
	d.family("peerproof_run_exit_code", "Exit code of the run: 0 good, 1 failed or erred, 2 interrupted, 5 nothing tested.")
	d.sample("peerproof_run_exit_code", float64(r.Exit))
}

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func (d *document) gpus(gpus []report.GPU) {
	d.family("peerproof_gpu_info", "A GPU of the node, always 1.")
	for i := range gpus {
		g := &gpus[i]
		d.sample("peerproof_gpu_info", 1, label{"gpu", g.Slot}, label{"bus_id", g.BusID}, label{"uuid", g.UUID}, label{"serial", g.Serial}, label{"model", g.Model})
	}
}

// specs counts the specs and names those that did not pass.
func (d *document) specs(r *report.Results) {
	d.family("peerproof_specs", "Specs of the run by verdict.")
	for _, c := range []struct {
		verdict verdict.Verdict
		count   int
	}{
		{verdict.Pass, r.Counts.Pass},
		{verdict.Fail, r.Counts.Fail},
		{verdict.Error, r.Counts.Error},
		{verdict.Skip, r.Counts.Skip},
		{verdict.Waived, r.Counts.Waived},
	} {
		d.sample("peerproof_specs", float64(c.count), label{"verdict", string(c.verdict)})
	}
	d.named("peerproof_spec_failed", "A spec that failed or erred, always 1.", r.Specs, func(s *report.Spec) bool {
		return s.Verdict == verdict.Fail || s.Verdict == verdict.Error
	})
	d.named("peerproof_spec_waived", "A spec that failed or erred and is excused by a waiver, always 1.", r.Specs, func(s *report.Spec) bool {
		return s.Verdict == verdict.Waived
	})
}

func (d *document) named(name, help string, specs []report.Spec, want func(*report.Spec) bool) {
	d.family(name, help)
	written := 0
	for i := range specs {
		s := &specs[i]
		if !want(s) {
			continue
		}
		if written++; written > maxSeries {
			d.omitted[name]++
			continue
		}
		labels := append([]label{{"spec", s.ID}, {"verdict", string(s.Verdict)}, {"code", s.Code}}, where(s)...)
		if s.Waiver != nil {
			labels = append(labels, label{"expires", s.Waiver.Expires})
		}
		d.sample(name, 1, labels...)
	}
}

// where names a spec's check and subject.
func where(s *report.Spec) []label {
	labels := []label{{"check", s.Check()}}
	if s.Subject != nil {
		labels = append(labels, label{"from", s.Subject.From}, label{"to", s.Subject.To}, label{"gpu", s.Subject.GPU})
	}
	return append(labels, label{"path", s.Path})
}
