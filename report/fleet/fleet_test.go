package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/internal/sample"
)

var noon = time.Date(2026, 2, 3, 12, 0, 0, 0, time.UTC)

// fleetOf makes so many healthy servers of four GPUs, with noise on their
// figures as real ones have it.
func fleetOf(n int, seed uint64) *Set {
	set := &Set{series: newCatalogue()}
	for i := range n {
		set.runs = append(set.runs, serverOf(set.series, i, rand.New(rand.NewPCG(seed, uint64(i))), nil))
	}
	return set
}

// serverOf makes one server; speed is how fast a subject of it is, 1 where nil.
func serverOf(c *catalogue, number int, rng *rand.Rand, speed func(subject string) float64) *Run {
	r := &Run{Dir: fmt.Sprintf("runs/%04d", number), Source: resultsName, Verdict: verdict.Pass}
	r.Info = report.Run{
		ID: fmt.Sprintf("run-%d", number), Tool: "peerproof 1", Host: fmt.Sprintf("node%d", number),
		Started: noon.Add(-time.Hour), Ended: noon.Add(-time.Hour + time.Minute),
	}
	v := &inventory{Version: 1}
	v.Host.Serial, v.Driver.NVML, v.Driver.CUDA = fmt.Sprintf("S%d", number), "580.1", 13000
	for g := range 4 {
		r.GPUs = append(r.GPUs, report.GPU{Slot: fmt.Sprintf("gpu%d", g), Serial: fmt.Sprintf("G%d-%d", number, g), UUID: fmt.Sprintf("GPU-%d-%d", number, g), Model: "NVIDIA H200"})
		v.GPUs = append(v.GPUs, firmware{Slot: g, Model: "NVIDIA H200", VBIOS: "96.0", InfoROM: "G5"})
	}
	r.equip(v)
	r.profiled("")
	if speed == nil {
		speed = func(string) float64 { return 1 }
	}
	measured := func(check, subject, unit string, value float64) {
		r.take(&spec{ID: check + "[" + subject + "]", Verdict: verdict.Pass, Path: "NV18", Measurements: []measurement{{Name: "bandwidth", Value: value, Unit: unit}}}, c)
		r.Counts.Pass++
	}
	for _, check := range []string{"bandwidth/read-ce", "bandwidth/write-ce", "latency/load", "access/enable-cost"} {
		whole := 1 + 0.005*rng.NormFloat64()
		for a := range 4 {
			for b := range 4 {
				if a == b {
					continue
				}
				subject := fmt.Sprintf("gpu%d->gpu%d", a, b)
				f := whole * (1 + 0.006*rng.NormFloat64()) * speed(subject)
				switch check {
				case "latency/load":
					measured(check, subject, "ns", 1100/f)
				case "access/enable-cost":
					measured(check, subject, "us", 300*rng.ExpFloat64())
				default:
					measured(check, subject, "GB/s", 396*f)
				}
			}
		}
	}
	for g := range 4 {
		measured("bandwidth/host-to-device", fmt.Sprintf("gpu%d", g), "GB/s", 55*(1+0.006*rng.NormFloat64())*speed(fmt.Sprintf("gpu%d", g)))
	}
	return r
}

// slowed makes a speed that is 8 % lower for some subjects.
func slowed(which func(subject string) bool) func(string) float64 {
	return func(subject string) float64 {
		if which(subject) {
			return 0.92
		}
		return 1
	}
}

func build(set *Set) *Report { return Build(set, Options{Tool: "peerproof test", Now: noon}) }

// places are where outliers are, each once.
func places(r *Report) (all []string) {
	for i := range r.Groups {
		for _, o := range r.Groups[i].Outliers {
			all = append(all, strings.TrimSpace(o.Level+" "+o.Host+" "+o.Subject))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// A thousand servers: what was planted is found, at its own level, and nothing
// else, whatever the noise.
func TestPlanted(t *testing.T) {
	if sample.Raced {
		t.Skip("make test runs it without the race detector")
	}
	for seed := range uint64(3) {
		set := fleetOf(1000, seed)
		if got := places(build(set)); got != nil {
			t.Errorf("seed %d: %v in a healthy fleet", seed, got)
		}
		plant := func(number int, which func(string) bool) {
			set.runs[number] = serverOf(set.series, number, rand.New(rand.NewPCG(seed, uint64(number))), slowed(which))
		}
		plant(17, func(string) bool { return true })
		plant(30, func(s string) bool { return strings.Contains(s, "gpu2") })
		plant(44, func(s string) bool { return s == "gpu1->gpu3" })
		r := build(set)
		if diff := cmp.Diff([]string{"gpu node30 gpu2", "pair node44 gpu1->gpu3", "server node17"}, places(r)); diff != "" {
			t.Errorf("seed %d: %s", seed, diff)
		}
		if r.Exit != exitBad || r.Groups[0].Servers[0].Outliers != 1 {
			t.Errorf("seed %d: exit %d, first %+v", seed, r.Exit, r.Groups[0].Servers[0])
		}
	}
}

// Slower servers of another product are no outliers, and neither are those
// with other marks.
func TestKindsStayApart(t *testing.T) {
	set := fleetOf(30, 1)
	for i := range 10 {
		other := serverOf(set.series, 100+i, rand.New(rand.NewPCG(2, uint64(i))), slowed(func(string) bool { return true }))
		other.product = "another board"
		marked := serverOf(set.series, 200+i, rand.New(rand.NewPCG(3, uint64(i))), func(string) float64 { return 0.5 })
		marked.Info.Simulated = true
		set.runs = append(set.runs, other, marked)
	}
	r := build(set)
	if got := places(r); got != nil || r.Exit != exitGood {
		t.Errorf("%v, exit %d", got, r.Exit)
	}
	if len(r.Groups) != 2 || r.Groups[0].Marks != "" || r.Groups[1].Marks != "SIMULATED" || len(r.Groups[0].Kinds) != 2 || len(r.Groups[1].Servers) != 10 {
		t.Errorf("groups: %+v", r.Groups)
	}
}

// troubled is a small fleet with one of everything, and hostile text.
func troubled() *Set {
	set := fleetOf(9, 4)
	series := set.series
	bad := func(r *Run, v verdict.Verdict, id, code, message string) {
		r.take(&spec{ID: id, Verdict: v, Code: code, Message: message}, series)
		r.Counts.Add(v)
		r.Verdict = r.Counts.Verdict()
	}
	set.runs[1] = serverOf(series, 1, rand.New(rand.NewPCG(4, 1)), slowed(func(string) bool { return true }))
	evil := set.runs[2]
	evil.Info.Host = hostile
	evil.Dir = "runs/" + hostile
	for _, peer := range []string{"gpu0", "gpu1", "gpu2"} {
		bad(evil, verdict.Fail, "dereference/read["+peer+"->gpu3]", "data-mismatch", hostile)
	}
	bad(evil, verdict.Error, "transfer/all-pairs", "blocked-by", "follows")
	set.runs[3].Warnings = []string{"the journal has no end" + hostile}
	set.runs[4].facts[0].value = "570.9" + hostile
	set.runs[5].GPUs[0].Serial = set.runs[6].GPUs[1].Serial
	earlier := *set.runs[7]
	earlier.Dir, earlier.Info.Ended = "runs/earlier", earlier.Info.Ended.Add(-time.Hour)
	stranger := serverOf(series, 90, rand.New(rand.NewPCG(4, 90)), nil)
	stranger.serial = set.runs[8].serial
	loop := serverOf(series, 91, rand.New(rand.NewPCG(4, 91)), nil)
	loop.Info.Loopback = true
	set.runs = append(set.runs, &earlier, stranger, loop)
	set.skipped = []Skipped{{Dir: "runs/x" + hostile, Reason: "it ends in the middle" + hostile}}
	return set
}

const hostile = "<script>alert(1)</script>\x1b[31m\u202eevil\"'&`]]>\u0085\x00"

func TestGolden(t *testing.T) {
	r := build(troubled())
	var out bytes.Buffer
	if err := WriteJSON(&out, r); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "troubled.json")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("fleet.json differs (UPDATE=1 writes it again):\n%s", diff)
	}
	if strings.ContainsAny(out.String(), "\x1b\u202e\u0085\x00") {
		t.Error("fleet.json steers a terminal")
	}
	var back Report
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, &back); diff != "" {
		t.Errorf("fleet.json loses something:\n%s", diff)
	}
}

// What a fleet says does not depend on the order in which folders were read,
// nor on how series came to be numbered.
func TestOrder(t *testing.T) {
	want := build(troubled())
	rapid.Check(t, func(t *rapid.T) {
		set := troubled()
		set.runs = rapid.Permutation(set.runs).Draw(t, "runs")
		if diff := cmp.Diff(want, build(set)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// One more healthy server makes nobody an outlier.
func TestOneMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(MinPeers-1, 40).Draw(t, "servers")
		set := fleetOf(n, rapid.Uint64().Draw(t, "seed"))
		set.runs[0] = serverOf(set.series, 0, rand.New(rand.NewPCG(1, 1)), slowed(func(string) bool { return true }))
		before := places(build(set))
		set.runs = append(set.runs, serverOf(set.series, n, rand.New(rand.NewPCG(9, 9)), nil))
		for _, place := range places(build(set)) {
			if place != "server node0" && !slices.Contains(before, place) {
				t.Fatalf("%s became an outlier", place)
			}
		}
	})
}

func TestBlame(t *testing.T) {
	for _, c := range []struct {
		name     string
		subjects []string
		gpus     int
		want     map[string]string
	}{
		{"the node", []string{""}, 8, map[string]string{"": ""}},
		{"a GPU", []string{"gpu3"}, 8, map[string]string{"gpu3": "gpu3"}},
		{"a pair, both ways", []string{"gpu0->gpu1", "gpu1->gpu0"}, 8, map[string]string{"gpu0->gpu1": "gpu0-gpu1", "gpu1->gpu0": "gpu0-gpu1"}},
		{"two pairs with a GPU in common are pairs", []string{"gpu0->gpu1", "gpu0->gpu2"}, 8, map[string]string{"gpu0->gpu1": "gpu0-gpu1", "gpu0->gpu2": "gpu0-gpu2"}},
		{"three are the GPU", []string{"gpu5->gpu1", "gpu5-gpu2", "gpu3->gpu5", "gpu6->gpu7"}, 8, map[string]string{
			"gpu5->gpu1": "gpu5", "gpu5-gpu2": "gpu5", "gpu3->gpu5": "gpu5", "gpu6->gpu7": "gpu6-gpu7",
		}},
		{"most pairs are the server", []string{"gpu0-gpu1", "gpu0-gpu2", "gpu1-gpu2", "gpu2-gpu3"}, 4, map[string]string{
			"gpu0-gpu1": "", "gpu0-gpu2": "", "gpu1-gpu2": "", "gpu2-gpu3": "",
		}},
		{"the only pair is a pair", []string{"gpu0-gpu1"}, 2, map[string]string{"gpu0-gpu1": "gpu0-gpu1"}},
		{"its own peer", []string{"gpu0->gpu0"}, 1, map[string]string{"gpu0->gpu0": "gpu0"}},
	} {
		if diff := cmp.Diff(c.want, blame(c.subjects, c.gpus)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
