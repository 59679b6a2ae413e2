package html_test

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/html"
	"github.com/peerproof/peerproof/report/internal/sample"
)

// rack is a run of so many GPUs behind switches: checks of every ordered pair,
// half of them with a figure, as the catalogue has; one GPU is missing, one is
// slow, and so is one pair.
func rack(gpus, checks int) *report.Results {
	n := sample.Node(gpus)
	for i := range n.GPUs {
		g := &n.GPUs[i]
		g.NUMA, g.NVLinkSupported = i*4/max(1, gpus), true
		for l := range 18 {
			g.NVLinks = append(g.NVLinks, topology.NVLink{Link: l, Active: i != 9 || l > 1, Version: 4, Switch: true, Remote: fmt.Sprintf("0009:%02x:00.0", l)})
		}
		for k := range n.Peers[i] {
			n.Peers[i][k].Ancestor = "SYS"
		}
	}
	gone := gpus / 2
	r := &report.Results{Run: report.Run{Host: "rack-3", Simulated: true, Started: sample.Start, Ended: sample.Start}, Node: n}
	n.GPUs[gone] = topology.GPU{Slot: gone, BusID: n.GPUs[gone].BusID, OnPCI: true, NVMLIndex: -1, CUDAOrdinal: -1}
	for i := range n.GPUs {
		g := &n.GPUs[i]
		r.GPUs = append(r.GPUs, report.GPU{Slot: topology.SlotName(g.Slot), BusID: g.BusID, UUID: g.UUID, Serial: g.Serial, Model: g.Model, NUMA: g.NUMA})
	}
	add := func(s report.Spec) {
		r.Specs = append(r.Specs, s)
		r.Counts.Add(s.Verdict)
	}
	missing := topology.SlotName(gone)
	add(report.Spec{ID: "inventory/gpu-count", Verdict: verdict.Fail, Code: "missing-gpu", Message: "1 GPU(s) missing: " + missing})
	samples := []float64{395.1, 394.2, 396.7, 393.9, 395.5}
	low := []float64{201.1, 200.2, 202.7, 199.9, 201.5}
	for c := range checks {
		for a := range gpus {
			for b := range gpus {
				if a == b {
					continue
				}
				s := report.Spec{
					ID: fmt.Sprintf("bandwidth/check-%d[gpu%d->gpu%d]", c, a, b), Text: "a requirement in a few words, as checks have", Path: "NV18",
					Verdict: verdict.Pass, Subject: &report.Subject{From: topology.SlotName(a), To: topology.SlotName(b)},
				}
				slow := c == 0 && (a == 9 || a == 20 && b == 21)
				switch {
				case a == gone || b == gone:
					s.Verdict, s.Code, s.Message = verdict.Error, verdict.BlockedBy, "blocked by inventory/gpu-count: "+missing+" is listed by PCI and not by NVML"
				case c%2 == 0:
					m := verdict.Measurement{Name: "bandwidth", Unit: "GB/s", Value: 395.1, Floor: 315, Theoretical: 450, Samples: samples}
					if slow {
						m.Value, m.Samples = 201.1, low
						s.Verdict, s.Code, s.Message = verdict.Fail, "below-floor", "201.1 GB/s: floor 315"
					}
					s.Measurements = []verdict.Measurement{m}
				}
				add(s)
			}
		}
	}
	r.Verdict, r.Exit = r.Counts.Verdict(), 1
	return r
}

type counter struct{ n int }

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}

// What the document may weigh, and what making it may cost.
func TestSize(t *testing.T) {
	if sample.Raced {
		t.Skip("make test runs it without the race detector")
	}
	for _, tt := range []struct{ gpus, checks, most int }{{1, 35, 200_000}, {8, 35, 3_000_000}, {72, 35, 6_000_000}} {
		t.Run(fmt.Sprint(tt.gpus), func(t *testing.T) {
			r := rack(tt.gpus, tt.checks)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var c counter
			if err := html.Write(&c, r); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			allocated := int(after.TotalAlloc-before.TotalAlloc) >> 20
			t.Logf("%d specs: %d bytes, %d MiB allocated in all", len(r.Specs), c.n, allocated)
			if c.n > tt.most {
				t.Errorf("%d bytes, want at most %d", c.n, tt.most)
			}
			if allocated > 600 {
				t.Errorf("%d MiB allocated in all, want at most 600", allocated)
			}
		})
	}
}

func BenchmarkRack(b *testing.B) {
	r := rack(72, 35)
	for b.Loop() {
		if err := html.Write(io.Discard, r); err != nil {
			b.Fatal(err)
		}
	}
}

// TestKeep writes documents to look at into the folder in PEERPROOF_HTML_KEEP.
func TestKeep(t *testing.T) {
	dir := os.Getenv("PEERPROOF_HTML_KEEP")
	if dir == "" {
		t.Skip("PEERPROOF_HTML_KEEP names no folder to write documents to")
	}
	for _, gpus := range []int{1, 8, 72} {
		file, err := os.Create(fmt.Sprintf("%s/rack-%d.html", dir, gpus))
		if err != nil {
			t.Fatal(err)
		}
		if err := html.Write(file, rack(gpus, 35)); err != nil {
			t.Error(err)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}
