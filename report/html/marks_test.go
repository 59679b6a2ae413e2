package html_test

import (
	"strings"
	"testing"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/internal/sample"
)

// ofGPUs is a spec of a check for each GPU; those named fail with the code.
func ofGPUs(check, code string, gpus int, bad ...string) []report.Spec {
	var specs []report.Spec
	for i := range gpus {
		slot := topology.SlotName(i)
		s := report.Spec{ID: check + "[" + slot + "]", Verdict: verdict.Pass, Subject: &report.Subject{GPU: slot}}
		for _, name := range bad {
			if name == slot {
				s.Verdict, s.Code = verdict.Fail, code
			}
		}
		specs = append(specs, s)
	}
	return specs
}

// boxes are the drawing's groups of a class, as text.
func boxes(p page, class string) []string {
	var found []string
	for _, g := range all(p.section("server"), "g") {
		if attribute(g, "class") == class {
			var words []string
			for _, n := range all(g, "text") {
				words = append(words, content(n))
			}
			found = append(found, strings.Join(words, "|"))
		}
	}
	return found
}

// paragraph is what the paragraph of a class says.
func paragraph(p page, class string) string {
	for _, n := range all(p.root, "p") {
		if attribute(n, "class") == class {
			return content(n)
		}
	}
	return ""
}

func TestMeasuredPCIeLink(t *testing.T) {
	r := &report.Results{Node: sample.Node(2), Specs: ofGPUs("link/pcie-loaded", "pcie-downgraded", 2, "gpu1")}
	for i, width := range []float64{16, 8} {
		r.Specs[i].Measurements = []verdict.Measurement{
			{Name: "PCIe generation, loaded", Value: 5, Unit: "gen", Floor: 5}, {Name: "PCIe width, loaded", Value: width, Unit: "lanes", Floor: 16},
		}
	}
	p := parse(t, write(t, r))
	p.sound()
	bad := boxes(p, "gpu bad")
	if len(bad) != 1 || !strings.Contains(bad[0], "✗ PCIe gen5 x8|") || !strings.HasSuffix(bad[0], "|pcie-downgraded") || strings.Contains(bad[0], "x16") {
		t.Errorf("faulty: %q", bad)
	}
	if good := boxes(p, "gpu"); len(good) != 1 || !strings.Contains(good[0], "|PCIe gen5 x16|") {
		t.Errorf("healthy: %q", good)
	}
	if got, want := paragraph(p, "marked"), "Marked: gpu1: pcie-downgraded; gpu1: PCIe gen5 x8 under load."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAbsentGPUs(t *testing.T) {
	n := sample.Node(6)
	n.GPUs[1].NVMLIndex, n.GPUs[1].CUDAOrdinal = -1, -1
	n.GPUs[2].Expected, n.GPUs[2].OnPCI, n.GPUs[2].NVMLIndex = true, false, -1
	n.GPUs[3].Lost = true
	n.GPUs[4].Hung = "nvmlDeviceGetSerial"
	n.GPUs[5].CUDAOrdinal = -1
	p := parse(t, write(t, &report.Results{Node: n}))
	gone := boxes(p, "gpu gone")
	want := []string{"NOT IN NVML", "EMPTY SLOT", "OFF THE BUS", "NO ANSWER", "NOT IN CUDA"}
	if len(gone) != len(want) {
		t.Fatalf("%q", gone)
	}
	for i, word := range want {
		if strings.Split(gone[i], "|")[1] != word {
			t.Errorf("gpu%d: %q, want %s", i+1, gone[i], word)
		}
	}
	if got := paragraph(p, "marked"); !strings.HasPrefix(got, "Marked: gpu1 is missing: listed by PCI, not by NVML or CUDA; gpu2 is missing: counted") {
		t.Errorf("%q", got)
	}
}

func TestFabricThatIsNotReady(t *testing.T) {
	for name, tt := range map[string]struct {
		bad  []string
		want string
	}{
		"none": {nil, ""},
		"two":  {[]string{"gpu0", "gpu2"}, "fabric-not-ready on gpu0, gpu2"},
		"all":  {[]string{"gpu0", "gpu1", "gpu2"}, "fabric-not-ready on all 3 GPUs"},
	} {
		t.Run(name, func(t *testing.T) {
			n := sample.Node(3)
			for i := range n.GPUs {
				n.GPUs[i].NVLinks = []topology.NVLink{{Active: true, Switch: true, Remote: "0000:85:00.0"}}
			}
			p := parse(t, write(t, &report.Results{Node: n, Specs: ofGPUs("fabric/state", "fabric-not-ready", 3, tt.bad...)}))
			if tt.want == "" {
				if len(boxes(p, "fabric")) != 1 || len(boxes(p, "fabric bad")) != 0 || paragraph(p, "marked") != "" {
					t.Error("a healthy fabric is marked")
				}
				return
			}
			bar := boxes(p, "fabric bad")
			if len(bar) != 1 || !strings.HasPrefix(bar[0], "✗ NVSwitch fabric") || !strings.HasSuffix(bar[0], ": "+tt.want) {
				t.Errorf("the bar says %q", bar)
			}
			if got := paragraph(p, "marked"); !strings.HasSuffix(got, "NVSwitch fabric: "+tt.want+".") {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestHeader(t *testing.T) {
	r := build(t, sample.Broken())
	if got := paragraph(parse(t, write(t, r)), "partial"); got != "" {
		t.Errorf("a whole run says %q", got)
	}
	r.Run.Keyword, r.Run.Host, r.Run.Node, r.Node.Host.Product = "a <b>", "rack", "rack", "rack"
	p := parse(t, write(t, r))
	if got, want := paragraph(p, "partial"), `⚠ PARTIAL: only -k "a <b>", 15 specs`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := content(all(p.root, "dl")[0]); strings.Count(got, "rack") != 1 || strings.Contains(got, "simulated node") {
		t.Errorf("the header repeats a name: %s", got)
	}
	r.Run.Node, r.Node.Host.Product = "hgx", "HGX H200"
	got := content(all(parse(t, write(t, r)).root, "dl")[0])
	for _, want := range []string{"HGX H200", "simulated nodehgx"} {
		if !strings.Contains(strings.ReplaceAll(got, "node ", "node"), want) {
			t.Errorf("the header lacks %s: %s", want, got)
		}
	}
}
