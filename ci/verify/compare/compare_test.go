package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func file(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// two is a run of two GPUs at the bus ids of the outputs in testdata.
func two(specs ...report.Spec) *run {
	yes := true
	node := &topology.Node{
		GPUs: []topology.GPU{
			{Slot: 0, BusID: "0000:18:00.0", Model: "NVIDIA H100 NVL"},
			{Slot: 1, BusID: "0000:2a:00.0", Model: "NVIDIA H100 NVL"},
		},
		Peers: [][]topology.Peer{{{}, {CanAccess: &yes, Ancestor: "PHB"}}, {{CanAccess: &yes, Ancestor: "PHB"}, {}}},
	}
	return &run{Results: &report.Results{Node: node, Specs: specs}, answers: map[string][]string{}, children: map[int]string{}}
}

func spec(id, name string, value float64, unit string) report.Spec {
	return report.Spec{ID: id, Verdict: verdict.Pass, Measurements: []verdict.Measurement{{Name: name, Value: value, Unit: unit}}}
}

// values are figures by tool, spec and unit.
func values(all []theirs) map[string]float64 {
	m := map[string]float64{}
	for _, t := range all {
		m[t.tool[:3]+" "+t.spec+" "+t.unit] += t.value // the two cells of a pair are told apart by their sum
	}
	return m
}

// Every figure goes to the spec that measures the same: the row's GPU works on
// the column's memory, and of three matrices the last one is the sum.
func TestNvbandwidth(t *testing.T) {
	all, left, err := two().nvbandwidth(file(t, "nvbandwidth.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"nvb bandwidth/host-to-device[gpu0] GB/s":        55.4,
		"nvb bandwidth/host-to-device[gpu1] GB/s":        55.5,
		"nvb bandwidth/host-bidirectional[gpu0] GB/s":    91,
		"nvb bandwidth/host-bidirectional[gpu1] GB/s":    91,
		"nvb bandwidth/read-ce[gpu0->gpu1] GB/s":         256.1,
		"nvb bandwidth/read-ce[gpu1->gpu0] GB/s":         257.2,
		"nvb bandwidth/bidirectional-ce[gpu0-gpu1] GB/s": 512.5 + 513.5,
		"nvb bandwidth/local[gpu0] GB/s":                 3000,
		"nvb bandwidth/local[gpu1] GB/s":                 3002,
		"nvb latency/chase[gpu0->gpu1] ns":               701,
		"nvb latency/chase[gpu1->gpu0] ns":               702,
	}
	if diff := gocmp.Diff(want, values(all), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff([]string{"nvbandwidth all_to_host_memcpy_ce: peerproof measures nothing like it", "nvbandwidth device_to_device_memcpy_write_sm: Waived"}, left); diff != "" {
		t.Error(diff)
	}
}

func TestP2P(t *testing.T) {
	want := map[string]float64{
		"p2p bandwidth/write-ce[gpu0->gpu1] GB/s":        260.1,
		"p2p bandwidth/write-ce[gpu1->gpu0] GB/s":        261.2,
		"p2p bandwidth/read-ce[gpu0->gpu1] GB/s":         255.1,
		"p2p bandwidth/read-ce[gpu1->gpu0] GB/s":         256.2,
		"p2p bandwidth/bidirectional-ce[gpu0-gpu1] GB/s": 520.1 + 521.2,
		"p2p bandwidth/local[gpu0] GB/s":                 3003.5,
		"p2p bandwidth/local[gpu1] GB/s":                 3004.5,
		"p2p transfer/staged[gpu0->gpu1] GB/s":           25.1,
		"p2p transfer/staged[gpu1->gpu0] GB/s":           25.2,
		"p2p latency/copy[gpu0->gpu1] us":                1.51,
		"p2p latency/copy[gpu1->gpu0] us":                1.52,
	}
	all, left, err := two().p2p(file(t, "p2p.txt"), false)
	if diff := gocmp.Diff(want, values(all), cmpopts.EquateApprox(0, 1e-9)); diff != "" || err != nil || len(left) > 0 {
		t.Error(diff, err, left)
	}
	want = map[string]float64{
		"p2p bandwidth/write-sm[gpu0->gpu1] GB/s":        130.05,
		"p2p bandwidth/write-sm[gpu1->gpu0] GB/s":        130.6,
		"p2p bandwidth/read-sm[gpu0->gpu1] GB/s":         127.55,
		"p2p bandwidth/read-sm[gpu1->gpu0] GB/s":         128.1,
		"p2p bandwidth/bidirectional-sm[gpu0-gpu1] GB/s": 260.05 + 260.6,
	}
	all, left, err = two().p2p(file(t, "p2p-sm.txt"), true)
	if diff := gocmp.Diff(want, values(all), cmpopts.EquateApprox(0, 1e-9)); diff != "" || err != nil || len(left) > 0 {
		t.Error(diff, err, left)
	}
}

// Without access the sample measures the host and calls it P2P; those cells
// are not held against ours, which were never measured.
func TestP2PWithoutAccess(t *testing.T) {
	text := strings.Replace(string(file(t, "p2p.txt")), "     0\t     1     1\n", "     0\t     1     0\n", 1)
	all, left, err := two().p2p([]byte(text), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if strings.Contains(f.spec, "gpu0->gpu1") && f.name != "staged" {
			t.Errorf("%+v", f)
		}
	}
	if len(left) != 1 || !strings.Contains(left[0], "gpu0 -> gpu1: no access") {
		t.Error(left)
	}
}

func TestNCCL(t *testing.T) {
	text := file(t, "all_reduce.txt")
	all, left, err := two().nccl(text, "all_reduce")
	want := []theirs{{"all_reduce_perf", "collective/all-reduce", "bus bandwidth", 214.73, "GB/s", "2 ranks, 512 MiB, out of place"}}
	if diff := gocmp.Diff(want, all, gocmp.AllowUnexported(theirs{})); diff != "" || err != nil || len(left) > 0 {
		t.Error(diff, err, left)
	}
	one := bytes.ReplaceAll(text, []byte("#  Rank  1"), []byte("# Rnk 1"))
	one = bytes.Replace(one, []byte("214.73  214.73       0"), []byte("214.73    0.00       3"), 1)
	all, left, err = two().nccl(one, "all_reduce")
	if err != nil || len(all) != 1 || all[0].name != "algorithm bandwidth" || all[0].value != 214.73 || len(left) != 1 {
		t.Error(all, left, err)
	}
	if _, _, err := two().nccl(text, "broadcast"); err == nil {
		t.Error("a program that we have no check for was taken")
	}
}

// What is no output of the tool is refused with one line that says why.
func TestBadOutputs(t *testing.T) {
	r := two()
	nv := func(s string) error { _, _, err := r.nvbandwidth([]byte(s)); return err }
	p2p := func(s string) error { _, _, err := r.p2p([]byte(s), false); return err }
	nccl := func(s string) error { _, _, err := r.nccl([]byte(s), "all_reduce"); return err }
	nvText, p2pText, ncclText := string(file(t, "nvbandwidth.json")), string(file(t, "p2p.txt")), string(file(t, "all_reduce.txt"))
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"no JSON":             {nv("Segmentation fault"), "there is no JSON"},
		"torn JSON":           {nv(nvText[:300]), "unexpected EOF"},
		"another JSON":        {nv(`{"a": 1}`), `no "nvbandwidth"`},
		"its own error":       {nv(`{"nvbandwidth": {"error": "CUDA_ERROR\u001b[2J"}}`), "ended with an error: CUDA_ERROR·[2J"},
		"another server":      {nv(strings.ReplaceAll(nvText, ":2a:", ":2b:")), "0000:2b:00, which is no GPU of the run"},
		"no bus id":           {nv(strings.ReplaceAll(nvText, "(00000000:2a:00)", "")), "expected number, name and bus id"},
		"too few cells":       {nv(strings.Replace(nvText, `"55.4", "55.5"`, `"55.4"`, 1)), "1 cells for 2 devices"},
		"too few rows":        {nv(strings.Replace(nvText, `[ "N/A", "701.0" ],`, ``, 1)), "1 rows for 2 devices, expected 2"},
		"no number":           {nv(strings.Replace(nvText, `"55.4"`, `"fast"`, 1)), `"fast" is neither`},
		"p2p: nothing":        {p2p("CUDA error"), "no device is named"},
		"p2p: cut in a line":  {p2p(p2pText[:strings.Index(p2pText, "255.10")]), "expected row 0 with 2 figures"},
		"p2p: cut off":        {p2p(p2pText[:strings.Index(p2pText, "     1 256.20")]), "the output ends before"},
		"p2p: a word":         {p2p(strings.Replace(p2pText, "255.10", "nothing", 1)), "is no number"},
		"p2p: other server":   {p2p(strings.Replace(p2pText, "pciBusID: 18", "pciBusID: 19", 1)), "0000:19:00, which is no GPU"},
		"p2p: no matrix":      {p2p(p2pText[:strings.Index(p2pText, "P2P Connectivity")]), "connectivity matrix is missing"},
		"p2p: twice":          {p2p(p2pText + "P2P=Enabled Latency (P2P Writes) Matrix (us)\n"), "there twice"},
		"nccl: nothing":       {nccl(""), "no rank is named"},
		"nccl: no end":        {nccl(ncclText[:strings.Index(ncclText, "#       size")]), "did not come to its end"},
		"nccl: no figure":     {nccl(strings.ReplaceAll(ncclText, "214.73", "fast")), `"fast" is no bandwidth`},
		"nccl: another order": {nccl(strings.Replace(ncclText, "Rank  0", "Rank  7", 1)), "rank 7 is named after 0"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) || strings.ContainsAny(c.err.Error(), "\n\x1b") {
			t.Errorf("%s: %v", name, c.err)
		}
	}
}

// The whole table, with one figure that differs and one that is not there.
func TestTable(t *testing.T) {
	r := two(
		spec("bandwidth/host-to-device[gpu0]", "bandwidth", 55.9, "GB/s"),
		spec("bandwidth/host-to-device[gpu1]", "bandwidth", 54.0, "GB/s"),
		spec("bandwidth/local[gpu0]", "bandwidth", 2990, "GB/s"),
		spec("bandwidth/read-ce[gpu0->gpu1]", "bandwidth", 256.0, "GB/s"),
		spec("bandwidth/read-ce[gpu1->gpu0]", "bandwidth", 0, "GB/s"),
		spec("latency/chase[gpu0->gpu1]", "load latency", 0.701, "us"), // another unit is another figure
	)
	all, left, err := r.nvbandwidth(file(t, "nvbandwidth.json"))
	if err != nil {
		t.Fatal(err)
	}
	rows := compare(r.Results, all, 0.02)
	golden(t, "figures.md", table(rows, 0.02, " (LOOPBACK)", append(left, "<b>|`x`\x1b[31m\u202e")))
}

// A second reading of the table: every row has as many cells as its head, and
// the word says what the figures do.
func TestTableIsATable(t *testing.T) {
	columns := 0
	for _, line := range strings.Split(string(file(t, "figures.md")), "\n") {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.ReplaceAll(line, `\|`, ""), "|")
		if columns == 0 {
			columns = len(cells)
		}
		if len(cells) != columns {
			t.Errorf("%d cells instead of %d: %s", len(cells), columns, line)
		}
	}
	if columns != 11 {
		t.Errorf("%d columns", columns)
	}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		ours, theirs float64
		want         word
	}{{100, 100, pass}, {102, 100, pass}, {98, 100, pass}, {102.1, 100, differs}, {97.9, 100, differs}, {0, 100, differs}, {100, 0, differs}, {-1, -1, differs}} {
		if _, got := judge(c.ours, c.theirs, 0.02); got != c.want {
			t.Errorf("%v of %v: %s", c.ours, c.theirs, got)
		}
	}
}

func FuzzParsers(f *testing.F) {
	for _, name := range []string{"nvbandwidth.json", "p2p.txt", "all_reduce.txt"} {
		f.Add(file(f, name))
	}
	r := two()
	f.Fuzz(func(t *testing.T, text []byte) {
		nv, left, err := r.nvbandwidth(text)
		p2p, more, _ := r.p2p(text, false)
		sm, _, _ := r.p2p(text, true)
		nccl, _, _ := r.nccl(text, "all_reduce")
		if err != nil && strings.ContainsAny(err.Error(), "\x1b\r") {
			t.Errorf("%q", err)
		}
		page := table(compare(r.Results, append(append(append(nv, p2p...), sm...), nccl...), 0.02), 0.02, "", append(left, more...))
		if strings.ContainsAny(page, "\x1b\r<>") {
			t.Errorf("%q", page)
		}
	})
}
