package all_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/peerproof/peerproof/fixtures/verdict"
)

// Every bandwidth and every time that is measured is the median of five samples
// at least, whatever else runs at once.
func TestFiguresAreMediansOfFive(t *testing.T) {
	dir := t.TempDir()
	node, out := filepath.Join(dir, "node.yaml"), filepath.Join(dir, "out")
	if err := os.WriteFile(node, []byte(fault{}.file(false)), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(build(t), "run", "-q", "--node", node, "--out", out, "--preset", "rma",
		"-k", "(bandwidth or latency or transfer/staged or enable-cost) and not (symmetric or like-its-peers or peer-beats-staged or latency/load)").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	data, err := os.ReadFile(filepath.Join(out, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var results struct {
		Specs []struct {
			ID           string                `json:"id"`
			Measurements []verdict.Measurement `json:"measurements"`
		} `json:"specs"`
	}
	if err := json.Unmarshal(data, &results); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range results.Specs {
		check, _, _ := strings.Cut(s.ID, "[")
		for _, m := range s.Measurements {
			seen[check] = true
			if len(m.Samples) < 5 {
				t.Errorf("%s: %s has %d samples", s.ID, m.Name, len(m.Samples))
				continue
			}
			sorted := slices.Sorted(slices.Values(m.Samples))
			if n := len(sorted); m.Value != (sorted[(n-1)/2]+sorted[n/2])/2 {
				t.Errorf("%s: %s is %v, the samples are %v", s.ID, m.Name, m.Value, m.Samples)
			}
		}
	}
	if len(seen) < 18 {
		t.Errorf("only %d checks measured anything: %v", len(seen), seen)
	}
}
