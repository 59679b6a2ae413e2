package diff_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/diff"
	"github.com/peerproof/peerproof/report/internal/sample"
)

var update = flag.Bool("update", false, "write the golden files")

func built(t *testing.T, j *sample.Journal) *report.Results {
	t.Helper()
	r, err := report.Build(strings.NewReader(j.String()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func one(v verdict.Verdict, code string) *report.Results {
	r := &report.Results{Specs: []report.Spec{{ID: "a/b[gpu0]", Verdict: v, Code: code, Message: string(v) + " of " + code}}}
	r.Counts.Add(v)
	return r
}

// What becomes of one spec, for every state before and after.
func TestSpecs(t *testing.T) {
	type outcome struct {
		v    verdict.Verdict
		code string
	}
	pass, skip := outcome{verdict.Pass, ""}, outcome{verdict.Skip, "no-nvlink"}
	slow, wrong, waived := outcome{verdict.Fail, "below-floor"}, outcome{verdict.Error, "hang"}, outcome{verdict.Waived, "below-floor"}
	idle, blocked := outcome{verdict.Error, verdict.NotRun}, outcome{verdict.Error, verdict.BlockedBy}
	for _, c := range []struct {
		before, after outcome
		list          string
		worse         bool
		message       string
	}{
		{pass, pass, "", false, ""},
		{pass, slow, "new", true, "fail of below-floor"},
		{pass, wrong, "new", true, "error of hang"},
		{pass, blocked, "new", true, "error of blocked-by"},
		{pass, skip, "lost", true, "skip of no-nvlink"},
		{pass, idle, "lost", true, "error of not-run"},
		{pass, waived, "waived", false, "waived of below-floor"},
		{slow, pass, "fixed", false, "fail of below-floor"},
		{slow, slow, "still", false, "fail of below-floor"},
		{slow, wrong, "changed", false, "error of hang"},
		{slow, skip, "lost", true, "skip of no-nvlink"},
		{slow, waived, "waived", false, "waived of below-floor"},
		{skip, pass, "gained", false, "skip of no-nvlink"},
		{skip, slow, "new", true, "fail of below-floor"},
		{skip, idle, "", false, ""},
		{idle, pass, "gained", false, "error of not-run"},
		{waived, pass, "fixed", false, "waived of below-floor"},
		{waived, slow, "new", true, "fail of below-floor"},
		{waived, waived, "", false, ""},
		{waived, skip, "lost", true, "skip of no-nvlink"},
	} {
		d := diff.Compare(one(c.before.v, c.before.code), one(c.after.v, c.after.code))
		got := ""
		for name, list := range map[string][]diff.Spec{
			"new": d.New, "lost": d.Lost, "changed": d.Changed, "still": d.Still, "waived": d.Waived, "fixed": d.Fixed, "gained": d.Gained,
		} {
			if len(list) == 0 {
				continue
			}
			got += name
			if s := list[0]; s.ID != "a/b[gpu0]" || s.Before != (diff.Outcome{Verdict: c.before.v, Code: c.before.code}) || s.After.Code != c.after.code || s.Message != c.message {
				t.Errorf("%v to %v: %+v", c.before, c.after, s)
			}
		}
		if got != c.list || d.Worse != c.worse {
			t.Errorf("%v to %v: %q, worse %t", c.before, c.after, got, d.Worse)
		}
	}
}

func figure(name, unit string, samples ...float64) verdict.Measurement {
	sorted := slices.Sorted(slices.Values(samples))
	m := verdict.Measurement{Name: name, Unit: unit, Samples: samples}
	if len(sorted) > 0 {
		m.Value = sorted[len(sorted)/2]
	}
	return m
}

func TestFigures(t *testing.T) {
	steady := func(v float64) []float64 { return []float64{v, v * 1.001, v * 0.999} }
	for name, c := range map[string]struct {
		before, after verdict.Measurement
		compared      int
		moved, noise  float64 // 0: it did not
		worse         bool
	}{
		"the same":             {figure("b", "GB/s", steady(100)...), figure("b", "GB/s", steady(100)...), 1, 0, 0, false},
		"within the share":     {figure("b", "GB/s", steady(100)...), figure("b", "GB/s", steady(95.1)...), 1, 0, 0, false},
		"a link of 18 is gone": {figure("b", "GB/s", steady(360)...), figure("b", "GB/s", steady(340)...), 1, -5.5555, 5, true},
		"faster":               {figure("b", "GB/s", steady(100)...), figure("b", "GB/s", steady(110)...), 1, 10, 5, false},
		"noisy":                {figure("b", "GB/s", 80, 100, 120), figure("b", "GB/s", 60, 80, 100), 1, 0, 0, false},
		"beyond its noise":     {figure("b", "GB/s", 95, 100, 105), figure("b", "GB/s", 65, 70, 75), 1, -30, 15, true},
		"a longer time":        {figure("b", "ns", steady(600)...), figure("b", "ns", steady(700)...), 1, 16.6666, 10, true},
		"a little longer":      {figure("b", "us", steady(10)...), figure("b", "us", steady(10.9)...), 1, 0, 0, false},
		"a shorter time":       {figure("b", "us", steady(10)...), figure("b", "us", steady(8)...), 1, -20, 10, false},
		"few samples":          {figure("b", "GB/s", 100, 100), figure("b", "GB/s", steady(50)...), 0, 0, 0, false},
		"a count":              {figure("b", "errors", steady(100)...), figure("b", "errors", steady(50)...), 0, 0, 0, false},
		"another name":         {figure("b", "GB/s", steady(100)...), figure("c", "GB/s", steady(50)...), 0, 0, 0, false},
		"another unit":         {figure("b", "us", steady(100)...), figure("b", "ns", steady(50)...), 0, 0, 0, false},
		"nothing measured":     {figure("b", "GB/s", 0, 0, 0), figure("b", "GB/s", steady(50)...), 0, 0, 0, false},
		"no number":            {figure("b", "GB/s", steady(50)...), verdict.Measurement{Name: "b", Unit: "GB/s", Value: math.NaN(), Samples: steady(1)}, 0, 0, 0, false},
	} {
		before, after := one(verdict.Pass, ""), one(verdict.Pass, "")
		before.Specs[0].Measurements, after.Specs[0].Measurements = []verdict.Measurement{c.before}, []verdict.Measurement{c.after}
		d := diff.Compare(before, after)
		if d.Compared != c.compared || len(d.Figures) > 1 || (len(d.Figures) == 1) != (c.moved != 0) || d.Worse != c.worse {
			t.Errorf("%s: %d compared, %+v, worse %t", name, d.Compared, d.Figures, d.Worse)
			continue
		}
		for _, f := range d.Figures {
			if math.Abs(f.Moved-c.moved) > 0.001 || math.Abs(f.Noise-c.noise) > 0.001 || f.Worse != c.worse || f.ID != "a/b[gpu0]" {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// Two runs of a healthy node, whose samples lie 2 % about the same rate, raise
// no alarm; a tenth less does.
func TestNoFalseAlarm(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rate := rapid.Float64Range(1, 5000).Draw(rt, "rate")
		draw := func(rate float64) verdict.Measurement {
			return figure("bandwidth", "GB/s", rapid.SliceOfN(rapid.Float64Range(0.98*rate, 1.02*rate), 5, 5).Draw(rt, "samples")...)
		}
		before, healthy, slow := one(verdict.Pass, ""), one(verdict.Pass, ""), one(verdict.Pass, "")
		before.Specs[0].Measurements = []verdict.Measurement{draw(rate)}
		healthy.Specs[0].Measurements = []verdict.Measurement{draw(rate)}
		slow.Specs[0].Measurements = []verdict.Measurement{draw(0.85 * rate)}
		if d := diff.Compare(before, healthy); d.Worse || len(d.Figures) > 0 || d.Compared != 1 {
			rt.Fatalf("a false alarm: %+v", d.Figures)
		}
		if d := diff.Compare(before, slow); !d.Worse {
			rt.Fatalf("15 %% less: %+v", d)
		}
	})
}

func TestTheWorstFigureComesFirst(t *testing.T) {
	before, after := &report.Results{}, &report.Results{}
	for i, factor := range []float64{1.5, 0.9, 0.5, 1.2, 0.7} {
		id := "a/b[gpu" + string(rune('0'+i)) + "]"
		before.Specs = append(before.Specs, report.Spec{ID: id, Verdict: verdict.Pass, Measurements: []verdict.Measurement{figure("b", "GB/s", 100, 100, 100)}})
		after.Specs = append(after.Specs, report.Spec{ID: id, Verdict: verdict.Pass, Measurements: []verdict.Measurement{figure("b", "GB/s", 100*factor, 100*factor, 100*factor)}})
	}
	var got []string
	for _, f := range diff.Compare(before, after).Figures {
		got = append(got, f.ID)
	}
	if want := []string{"a/b[gpu2]", "a/b[gpu4]", "a/b[gpu1]", "a/b[gpu0]", "a/b[gpu3]"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestOnlyInOne(t *testing.T) {
	before, after := one(verdict.Pass, ""), one(verdict.Pass, "")
	before.Specs = append(before.Specs, report.Spec{ID: "a/old"})
	after.Specs = append([]report.Spec{{ID: "a/new", Verdict: verdict.Fail}}, after.Specs...)
	d := diff.Compare(before, after)
	if !slices.Equal(d.OnlyBefore, []string{"a/old"}) || !slices.Equal(d.OnlyAfter, []string{"a/new"}) || d.Worse {
		t.Errorf("%q, %q, worse %t", d.OnlyBefore, d.OnlyAfter, d.Worse)
	}
}

// change is a Change on one line.
func change(c diff.Change) string {
	text := string(c.Kind) + " " + c.What
	if len(c.GPUs) > 0 {
		text += " of " + strings.Join(c.GPUs, ",")
	}
	text += ": " + c.Before + " > " + c.After
	if c.Note != "" {
		text += " (" + c.Note + ")"
	}
	if c.Worse {
		text += " WORSE"
	}
	return text
}

func TestNodes(t *testing.T) {
	gpu := func(n *topology.Node, i int) *topology.GPU { return &n.GPUs[i] }
	for name, c := range map[string]struct {
		after func(*topology.Node)
		want  []string
	}{
		"the same": {func(*topology.Node) {}, nil},
		"a GPU swapped": {func(n *topology.Node) { gpu(n, 1).UUID, gpu(n, 1).Serial = "GPU-new", "99" }, []string{
			"hardware GPU of gpu1: serial 1650001, GPU-00000001 > serial 99, GPU-new (it was not in this server; the one before is not here any more)",
		}},
		"two GPUs changed places": {func(n *topology.Node) {
			a, b := gpu(n, 0), gpu(n, 2)
			a.UUID, b.UUID, a.Serial, b.Serial = b.UUID, a.UUID, b.Serial, a.Serial
		}, []string{
			"hardware GPU of gpu0: serial 1650000, GPU-00000000 > serial 1650002, GPU-00000002 (it was gpu2; the one before is gpu2)",
			"hardware GPU of gpu2: serial 1650002, GPU-00000002 > serial 1650000, GPU-00000000 (it was gpu0; the one before is gpu0)",
		}},
		"serials alone": {func(n *topology.Node) { gpu(n, 1).UUID, gpu(n, 1).Serial = "", "99" }, []string{
			"hardware GPU of gpu1: serial 1650001, GPU-00000001 > serial 99 (it was not in this server; the one before is not here any more)",
		}},
		"the UUID is unreadable": {func(n *topology.Node) { gpu(n, 1).UUID = "" }, nil},
		"a GPU gone": {func(n *topology.Node) { n.GPUs, n.Peers = n.GPUs[:2], nil }, []string{
			"hardware GPU of gpu2: there > missing WORSE",
		}},
		"a GPU lost": {func(n *topology.Node) { gpu(n, 1).Lost = true }, []string{"hardware GPU of gpu1: there > lost WORSE"}},
		"a GPU hidden": {func(n *topology.Node) {
			n.GPUs, n.Hidden, n.Peers = n.GPUs[:2], []topology.Hidden{{Slot: 2, BusID: "x"}}, nil
			n.Host.VisibleDevices = "0,1"
		}, []string{"hardware GPU of gpu2: there > hidden", "setting CUDA_VISIBLE_DEVICES:  > 0,1"}},
		"firmware of two": {func(n *topology.Node) { gpu(n, 0).VBIOS, gpu(n, 1).VBIOS, gpu(n, 2).VBIOS = "97", "97", "98" }, []string{
			"software VBIOS of gpu0,gpu1:  > 97", "software VBIOS of gpu2:  > 98",
		}},
		"software": {func(n *topology.Node) {
			n.Host.Kernel, n.Driver.NVML, n.Driver.KernelModule, n.Driver.CUDA, n.Host.FabricManager = "6.9", "581", "581", 13020, "581"
		}, []string{
			"software kernel:  > 6.9", "software driver's kernel module:  > 581", "software driver (NVML):  > 581", "software CUDA:  > 13.2", "software Fabric Manager:  > 581",
		}},
		"another server": {func(n *topology.Node) { n.Host.Serial = "SN1" }, []string{"hardware server's serial: SN0042 > SN1"}},
		"links": {func(n *topology.Node) {
			gpu(n, 0).NVLinkSupported, gpu(n, 0).NVLinks = true, []topology.NVLink{{Active: true}, {Link: 1}}
		}, []string{"hardware active NVLinks of gpu0:  > 1"}},
		"paths": {func(n *topology.Node) { n.Peers[0][1].Ancestor, n.Peers[1][0].Ancestor = "SYS", "SYS" }, []string{"hardware path of gpu0-gpu1: PIX > SYS"}},
		"settings": {func(n *topology.Node) {
			gpu(n, 0).Modes = topology.Modes{ECC: "off", PowerLimit: 300}
			n.Host.Container = true
		}, []string{
			"setting power limit in watts of gpu0:  > 300", "setting ECC of gpu0:  > off", "setting container: false > true",
		}},
	} {
		before, after := one(verdict.Pass, ""), one(verdict.Pass, "")
		before.Node, after.Node = sample.Node(3), sample.Node(3)
		c.after(after.Node)
		d := diff.Compare(before, after)
		var got []string
		worse := false
		for _, ch := range d.Changes {
			got = append(got, change(ch))
			worse = worse || ch.Worse
		}
		if diff := cmp.Diff(c.want, got); diff != "" || d.Worse != worse {
			t.Errorf("%s: worse %t (-want +got):\n%s", name, d.Worse, diff)
		}
	}
}

func TestRuns(t *testing.T) {
	before, after := one(verdict.Pass, ""), one(verdict.Pass, "")
	before.Node = sample.Node(1)
	before.Run = report.Run{Host: "a", Tool: "t 1", Profile: "p"}
	before.ProfileText, after.ProfileText = "version: 1\n", "version: 1\ngpus: {count: 3}\n"
	after.Run = report.Run{Host: "b", Tool: "t 2", Profile: "p", Preset: "rma", Keyword: "gpu0", Labels: "data", Simulated: true, Node: "single"}
	d := diff.Compare(before, after)
	var got []string
	for _, c := range d.Changes {
		got = append(got, change(c))
	}
	want := []string{
		"run host: a > b", "run marks:  > SIMULATED", "run tool: t 1 > t 2", "run profile: p > p (its text is another one)", "run preset: acceptance > rma",
		"run -k:  > gpu0", "run -m:  > data", "run simulated node:  > single",
		"run inventory: discovered > none (discovery did not come to its end in one of the runs) WORSE",
	}
	if diff := cmp.Diff(want, got); diff != "" || !d.Worse {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The document is what the golden file says, and reads back as what was written.
func TestGoldenJSON(t *testing.T) {
	before, after := sample.Pair()
	d := diff.Compare(built(t, before), built(t, after))
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(d); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "pair.json")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var back diff.Diff
	dec := json.NewDecoder(&got)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, &back); diff != "" {
		t.Errorf("read back (-written +read):\n%s", diff)
	}
	if empty, _ := json.Marshal(diff.Compare(one(verdict.Pass, ""), one(verdict.Pass, ""))); strings.Contains(string(empty), "null") {
		t.Errorf("a list is null: %s", empty)
	}
}
