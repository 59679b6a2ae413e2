package evidence_test

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report/evidence"
	"github.com/peerproof/peerproof/report/internal/sample"
	"github.com/peerproof/peerproof/runner/journal"
)

// began is the beginning of a run on real GPUs.
func began() *sample.Journal {
	run := sample.Run()
	run.Simulated, run.Node = false, ""
	return new(sample.Journal).Add(journal.Event{Type: journal.TypeRun, Run: run})
}

// Who decides about a part reads the manifest alone.
func TestManifestSaysWhatIsWrong(t *testing.T) {
	j := began()
	n := sample.Node(2)
	n.Driver.NVML, n.Host.Product = "580.95.05", "Eight GPUs \u202e"
	n.GPUs[1].PartNumber, n.GPUs[1].VBIOS, n.GPUs[1].InfoROM = "900-21010-0000-000", "96.00.15.00.01", "G520"
	j.Add(journal.Event{Type: journal.TypeNode, Node: n})
	j.Check("health/ecc", "no uncorrected errors", []string{"health"}, "gpu0", "gpu1")
	j.Spec("health/ecc[gpu0]", sample.Pass)
	ecc := verdict.Failf("ecc-uncorrected", "2 uncorrected errors since the run began")
	j.Spec("health/ecc[gpu1]", &ecc)
	archive, packed := mustPack(t, j.Finish("done", 1).String(), nil)
	want := []evidence.Finding{{
		GPUs: []string{"gpu1"}, What: "gpu1: ecc-uncorrected", Why: "It fails by itself: health/ecc.", Specs: 1,
		First: evidence.Failure{Spec: "health/ecc[gpu1]", Code: "ecc-uncorrected", Message: "2 uncorrected errors since the run began"},
	}}
	if d := cmp.Diff(want, packed.Manifest.Findings); d != "" {
		t.Error(d)
	}
	dir, _ := mustUnpack(t, archive)
	text := read(t, dir, evidence.ManifestFile)
	if strings.ContainsRune(text, '\u202e') {
		t.Error("the manifest turns the direction of writing")
	}
	var m struct {
		Run  struct{ Driver, Product string }
		GPUs []map[string]any
	}
	if err := json.NewDecoder(bytes.NewBufferString(text)).Decode(&m); err != nil {
		t.Fatal(err)
	}
	if m.Run.Driver != "580.95.05" || m.Run.Product != "Eight GPUs \u202e" {
		t.Errorf("the run's driver and product are %+v", m.Run)
	}
	for key, value := range map[string]any{
		"slot": "gpu1", "serial": n.GPUs[1].Serial, "part_number": "900-21010-0000-000", "vbios": "96.00.15.00.01", "inforom": "G520",
	} {
		if m.GPUs[1][key] != value {
			t.Errorf("%s of gpu1 is %v, want %v", key, m.GPUs[1][key], value)
		}
	}
}

// A rack in which everything fails still has a manifest that verify reads.
func TestManifestIsBounded(t *testing.T) {
	j := began()
	n := sample.Node(420)
	j.Add(journal.Event{Type: journal.TypeNode, Node: n})
	var subjects []string
	for i := range n.GPUs {
		subjects = append(subjects, "gpu"+strconv.Itoa(i))
	}
	j.Check("health/ecc", "no uncorrected errors", []string{"health"}, subjects...)
	ecc := verdict.Failf("ecc-uncorrected", "%s", strings.Repeat("many words ", 1000))
	for i, s := range subjects {
		if i%2 == 0 {
			j.Spec("health/ecc["+s+"]", &ecc)
		} else {
			j.Spec("health/ecc["+s+"]", sample.Pass)
		}
	}
	archive, packed := mustPack(t, j.Finish("done", 1).String(), nil)
	if got := len(packed.Manifest.Findings); got != 200 {
		t.Errorf("%d findings, want 200", got)
	}
	dir, top := mustUnpack(t, archive)
	if _, said := verified(t, dir, top, check()); said != "" {
		t.Error(said)
	}
}
