package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/peerproof/peerproof/cuda/sim"
	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/runner/journal"
)

func discovered(t *testing.T, f *sim.File, err error) *topology.Node {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	n, err := topology.Discover(f.Open(sim.History{}), topology.DiscoverOptions{Simulated: f.Name})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What is made of an embedded node's inventory is a node file, read by the
// simulation itself, and gives the same paths, links and access.
func TestNodeFileOfEveryNode(t *testing.T) {
	for _, name := range sim.Names() {
		if name == "nvl72" && testing.Short() {
			continue
		}
		f, err := sim.Load(name)
		want := discovered(t, f, err)
		text, err := nodeFile(&report.Results{Node: want, Specs: []report.Spec{{ID: "collective/all-reduce", Verdict: verdict.Pass}}})
		if err != nil {
			t.Fatal(err)
		}
		f, err = sim.Parse(name+".yaml", []byte(text))
		got := discovered(t, f, err)
		if len(got.GPUs) != len(want.GPUs) {
			t.Fatalf("%s: %d GPUs\n%s", name, len(got.GPUs), text)
		}
		for i := range want.GPUs {
			g, w := &got.GPUs[i], &want.GPUs[i]
			if g.Model != w.Model || g.NUMA != w.NUMA || g.PCIe != w.PCIe || len(g.NVLinks) != len(w.NVLinks) || g.MemoryBytes != w.MemoryBytes {
				t.Errorf("%s gpu%d: %+v, want %+v", name, i, g, w)
			}
			for j := range want.GPUs {
				if g, w := got.Path(i, j), want.Path(i, j); g != w {
					t.Errorf("%s gpu%d->gpu%d: %+v, want %+v", name, i, j, g, w)
				}
				if diff := gocmp.Diff(want.Peer(i, j), got.Peer(i, j)); diff != "" {
					t.Errorf("%s gpu%d->gpu%d: %s", name, i, j, diff)
				}
			}
		}
		if got.Driver.NVML != want.Driver.NVML || got.Driver.CUDA != want.Driver.CUDA {
			t.Errorf("%s: %+v", name, got.Driver)
		}
	}
}

// A server that no node file describes exactly: the file says what is missing,
// and still is one.
func TestNodeFileOfAnOddServer(t *testing.T) {
	no, yes := false, true
	n := &topology.Node{
		Host:   topology.Host{Container: true},
		Driver: topology.Driver{NVML: "600.1-beta\n# x", CUDA: 14020},
		GPUs: []topology.GPU{
			{Slot: 1, Model: "GPU \"of\" tomorrow\n", NUMA: -1, PCIe: topology.PCIe{GPUMaxGen: 6, GPUMaxWidth: 16, SlotMaxGen: 5, SlotMaxWidth: 8}, IOMMU: "DMA-FQ"},
			{Slot: 2, Model: "another", NUMA: -1},
		},
		Peers: [][]topology.Peer{{{}, {CanAccess: &no, Ancestor: "PIX"}}, {{CanAccess: &no, Ancestor: "PIX"}, {}}},
	}
	text, err := nodeFile(&report.Results{Node: n})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "odd.yaml", text)
	f, err := sim.Parse("odd.yaml", []byte(text))
	if got := discovered(t, f, err); len(got.GPUs) != 2 || got.Path(0, 1).Class != "PIX" || *got.Peer(0, 1).CanAccess {
		t.Errorf("%+v", got.Peers)
	}
	n.Peers[0][1].CanAccess = &yes
	if !pcieP2P(n) {
		t.Error("one way is access too")
	}
	// In a simulated virtual machine NVML knows no NVLink; where it does, the
	// links are worth more.
	n.Host.Virtualised = true
	if text, _ := nodeFile(&report.Results{Node: n}); !strings.Contains(text, "virtualised: true") {
		t.Error(text)
	}
	n.GPUs[0].NVLinks = []topology.NVLink{{Active: true, Version: 4, Switch: true}}
	if text, _ := nodeFile(&report.Results{Node: n}); !strings.Contains(text, "virtualised: false") || !strings.Contains(text, "the virtual machine") {
		t.Error(text)
	}
	if _, err := nodeFile(&report.Results{}); err == nil {
		t.Error("no inventory was taken for one")
	}
}

// events is a short run as a journal: an isolated spec that faults, an error
// number, a figure, and the Xids of both.
func events(t *testing.T, simulated bool, second string, enable float64) string {
	t.Helper()
	f, err := sim.Load("h100-nvl-4")
	n := discovered(t, f, err)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range n.GPUs {
		n.GPUs[i].Counters.Time = at
	}
	var out bytes.Buffer
	e := journal.NewEncoder(&out)
	add := func(ev journal.Event) {
		t.Helper()
		ev.Time = at
		if err := e.Encode(ev); err != nil {
			t.Fatal(err)
		}
	}
	add(journal.Event{Type: journal.TypeRun, Run: &journal.Run{ID: "r", Tool: "peerproof x", Host: "bench", Simulated: simulated, Node: map[bool]string{true: "same-shape"}[simulated]}})
	add(journal.Event{Type: journal.TypeNode, Node: n})
	for _, c := range []string{"access/enable-twice", "access/one-way-is-one-way", "access/enable-cost"} {
		add(journal.Event{Type: journal.TypeCheck, Check: &journal.Check{ID: c, Labels: []string{"access"}, Subjects: []string{"gpu0->gpu1"}}})
	}
	add(journal.Event{Type: journal.TypeChild, Child: &journal.Child{PID: 77, Task: "isolated"}})
	id := "access/enable-twice[gpu0->gpu1]"
	add(journal.Event{Type: journal.TypeStart, Spec: id})
	add(journal.Event{Type: journal.TypeStep, Spec: id, Text: "enabling gpu0->gpu1 twice"})
	add(journal.Event{Type: journal.TypeStep, Spec: id, Text: answered + second})
	add(journal.Event{Type: journal.TypeEnd, Spec: id, Outcome: &verdict.Outcome{Verdict: verdict.Pass}})
	id = "access/one-way-is-one-way[gpu0->gpu1]"
	add(journal.Event{Type: journal.TypeStart, Spec: id})
	add(journal.Event{Type: journal.TypeXid, Xid: &topology.Xid{BusID: "0000:18:00", Code: 31, Source: topology.FromKernelLog, Text: "MMU Fault", PID: 77, Specs: []string{id}, Provoked: true}})
	add(journal.Event{Type: journal.TypeEnd, Spec: id, Outcome: &verdict.Outcome{Verdict: verdict.Pass}})
	id = "access/enable-cost[gpu0->gpu1]"
	add(journal.Event{Type: journal.TypeStart, Spec: id})
	add(journal.Event{Type: journal.TypeMeasure, Spec: id, Measurement: &verdict.Measurement{Name: "enable", Value: enable, Unit: "us"}})
	add(journal.Event{Type: journal.TypeEnd, Spec: id, Outcome: &verdict.Outcome{Verdict: verdict.Pass}})
	add(journal.Event{Type: journal.TypeFinish, Finish: &journal.Finish{Reason: "done"}})
	return out.String()
}

// folders writes both journals where the commands look for them.
func folders(t *testing.T) (seen, simulated string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"seen":      events(t, false, "cuCtxEnablePeerAccess on gpu0: CUDA_ERROR_UNKNOWN (999)", 700),
		"simulated": events(t, true, "cuCtxEnablePeerAccess on gpu0: CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED (704)", 350),
	} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "journal.jsonl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "seen"), filepath.Join(dir, "simulated")
}

func TestFacts(t *testing.T) {
	seen, simulated := folders(t)
	var out, errs bytes.Buffer
	doc := filepath.Join(t.TempDir(), "facts.json")
	if code := command([]string{"facts", seen, simulated, "-json", doc}, &out, &errs); code != 0 {
		t.Fatal(code, errs.String())
	}
	golden(t, "facts.md", out.String())

	// The JSON says the same: an error number differs, a figure may.
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Version int
		Topics  []struct {
			Name  string
			Facts []struct {
				Subject, Seen, Simulated string
				Differs                  bool
			}
		}
	}
	if err := json.Unmarshal(text, &d); err != nil || d.Version != 1 {
		t.Fatal(err, d.Version)
	}
	different := []string{}
	lines := 0
	for _, topic := range d.Topics {
		for _, f := range topic.Facts {
			lines++
			if f.Differs {
				different = append(different, f.Subject)
			}
		}
	}
	if len(different) != 1 || different[0] != "access/enable-twice[gpu0->gpu1]" {
		t.Error(different)
	}
	if strings.Count(out.String(), "| DIFFERS |") != 1 || lines < 50 {
		t.Error(lines, "facts")
	}
}

func TestDifferences(t *testing.T) {
	seen, simulated := folders(t)
	var out, errs bytes.Buffer
	if code := command([]string{"differ", seen, simulated}, &out, &errs); code != 0 {
		t.Fatal(code, errs.String())
	}
	golden(t, "differences.md", out.String())
}

func TestGaps(t *testing.T) {
	one := func(id string, v verdict.Verdict, code, message string) *report.Results {
		return &report.Results{Specs: []report.Spec{{ID: id, Verdict: v, Code: code, Message: message}}}
	}
	pass := one("a[gpu0]", verdict.Pass, "", "")
	for name, c := range map[string]struct {
		seen, simulated *report.Results
		want            int
	}{
		"the same":        {pass, pass, 0},
		"figures":         {one("a[gpu0]", verdict.Fail, "x", "12.5 GB/s of 20"), one("a[gpu0]", verdict.Fail, "x", "11 GB/s of 20"), 0},
		"another verdict": {pass, one("a[gpu0]", verdict.Fail, "", ""), 1},
		"another code":    {one("a[gpu0]", verdict.Skip, "x", ""), one("a[gpu0]", verdict.Skip, "y", ""), 1},
		"another GPU":     {one("a[gpu0]", verdict.Fail, "x", "gpu0 is off"), one("a[gpu0]", verdict.Fail, "x", "gpu1 is off"), 1},
		"another path":    {one("a[gpu0]", verdict.Fail, "x", "over NV12"), one("a[gpu0]", verdict.Fail, "x", "over NV18"), 1},
		"another spec":    {pass, one("a[gpu1]", verdict.Pass, "", ""), 2},
	} {
		if got := gaps(c.seen, c.simulated); len(got) != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestRatios(t *testing.T) {
	results := func(a, b float64) *report.Results {
		return two(spec("c/d[gpu0]", "x", a, "GB/s"), spec("c/d[gpu1]", "x", b, "GB/s"), spec("c/e", "x", a, "rounds"), spec("c/f", "x", 0, "us")).Results
	}
	got := ratios(results(1, 3), results(2, 2))
	if len(got) != 1 || got[0] != (ratio{"c/d: x, GB/s", 2, 0.5, 1, 1.5}) {
		t.Errorf("%+v", got)
	}
}

// A command that was given something else says so in one line and ends with 4.
func TestUsage(t *testing.T) {
	seen, simulated := folders(t)
	for name, c := range map[string]struct {
		args []string
		want string
		code int
	}{
		"nothing":          {nil, "usage:", 4},
		"another word":     {[]string{"prove"}, "usage:", 4},
		"no folder":        {[]string{"tools"}, "0 folders are named; expected 1 to 1", 4},
		"no run":           {[]string{"facts", t.TempDir()}, "expected the output folder of peerproof run", 4},
		"too many":         {[]string{"node", seen, simulated}, "2 folders are named", 4},
		"one too few":      {[]string{"differ", seen}, "1 folders are named", 4},
		"bad tolerance":    {[]string{"tools", seen, "-tolerance", "0"}, "more than 0", 4},
		"bad flag":         {[]string{"tools", seen, "-nvbandwith", "x"}, "-nvbandwith", 4},
		"no such output":   {[]string{"tools", seen, "-p2p", "nowhere"}, "nowhere", 4},
		"wrong output":     {[]string{"tools", seen, "-p2p", "testdata/all_reduce.txt"}, "testdata/all_reduce.txt: no device is named", 4},
		"nccl of nothing":  {[]string{"tools", seen, "-nccl", "all_reduce"}, "expected PROGRAM=FILE", 4},
		"figures are away": {[]string{"tools", seen, "-nvbandwidth", "testdata/nvbandwidth.json"}, "", 1},
		"nothing to do":    {[]string{"tools", seen}, "", 0},
	} {
		var out, errs bytes.Buffer
		code := command(c.args, &out, &errs)
		if code != c.code || !strings.Contains(errs.String(), c.want) || strings.Count(errs.String(), "\n") > 1 {
			t.Errorf("%s: exit %d, %q", name, code, errs.String())
		}
	}
}

// Figures may differ from the simulation's; answers may not.
func TestKept(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"pass; enable 700 us", "pass; enable 350.5 us", true},
		{"Xid 31, kernel log", "Xid 13, kernel log", false},
		{"CUDA_ERROR_UNKNOWN (999)", "CUDA_ERROR_UNKNOWN (998)", false},
		{"faulted @ 0x1000000_00000000", "faulted @ 0x7f00_00000000", true},
		{"skip no-access", "pass", false},
	} {
		if (kept(c.a) == kept(c.b)) != c.same {
			t.Errorf("%q and %q: %q, %q", c.a, c.b, kept(c.a), kept(c.b))
		}
	}
	if a, b := "active, version 4, to switch 0000:07:00.0", "active, version 4, to switch 0000:1c:00.0"; placeless(a) != placeless(b) || placeless(a) == placeless("active, version 5, to switch 0000:07:00.0") {
		t.Error(placeless(a), placeless(b))
	}
}
