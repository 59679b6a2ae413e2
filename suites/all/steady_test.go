package all_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/verdict"
)

// One seed gives one run: the same ids, verdicts, messages and figures, and the
// same figures of the other specs also where children crash on the way.
func TestTheSameSeedGivesTheSameRun(t *testing.T) {
	binary := build(t)
	one := func(f fault, faulty bool) []result {
		dir := t.TempDir()
		node, out := filepath.Join(dir, "node.yaml"), filepath.Join(dir, "out")
		if err := os.WriteFile(node, []byte(f.file(faulty)), 0o600); err != nil {
			t.Fatal(err)
		}
		said, _ := exec.Command(binary, "run", "-q", "--node", node, "--out", out).CombinedOutput() // its exit code is not what is asked here
		return results(t, out, said)
	}
	f := fault{keys: "{kind: crash, pair: [1, 2], engine: sm-write, signal: SEGV}"}
	first, again, crashed := one(f, false), one(f, false), one(f, true)
	options := gocmp.Options{gocmp.AllowUnexported(result{})}
	if diff := gocmp.Diff(first, again, options); diff != "" {
		t.Errorf("the same node, tested again (-first +again):\n%s", diff)
	}
	if len(crashed) != len(first) {
		t.Fatalf("%d specs where a child crashes, %d where none does", len(crashed), len(first))
	}
	crashes := 0
	for i := range first {
		check, subject, _ := strings.Cut(first[i].ID, "[")
		declared, _ := fixtures.Default.Check(check)
		switch {
		case crashed[i].ID != first[i].ID:
			t.Errorf("spec %d is %s, and %s where a child crashes", i, first[i].ID, crashed[i].ID)
		case strings.HasPrefix(subject, "gpu1->gpu2") || strings.HasPrefix(subject, "gpu1-gpu2"):
			if crashed[i].Code == verdict.Crash {
				crashes++
			}
		case len(declared.Inputs) > 0 || declared.Last || declared.Kind == fixtures.WholeNode:
			// it judges what the pair measured, or works with all GPUs
		default:
			if diff := gocmp.Diff(first[i], crashed[i], options, cmpopts.IgnoreFields(result{}, "steps")); diff != "" {
				t.Errorf("%s, where children of gpu1->gpu2 crash (-without +with):\n%s", first[i].ID, diff)
			}
		}
	}
	if crashes == 0 {
		t.Error("no child crashed, so that nothing was shown")
	}
}

// No GPU and no pair of eight is left out of any check, and the ids are the same
// each time.
func TestEveryPairOfEightIsTested(t *testing.T) {
	binary := build(t)
	list := func() []string {
		out, err := exec.Command(binary, "list", "--node", "hgx-h200-8", "--preset", "rma", "--json").Output()
		if err != nil {
			t.Fatal(err)
		}
		var specs []struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(out, &specs); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, s := range specs {
			ids = append(ids, s.ID)
		}
		return ids
	}
	ids := list()
	for range 2 {
		if again := list(); !slices.Equal(ids, again) {
			t.Fatal("the ids of one node differ from run to run")
		}
	}
	of := map[string]map[string]bool{}
	for _, id := range ids {
		check, subject, _ := strings.Cut(strings.TrimSuffix(id, "]"), "[")
		if of[check] == nil {
			of[check] = map[string]bool{}
		}
		if of[check][subject] {
			t.Errorf("%s is there twice", id)
		}
		of[check][subject] = true
	}
	for _, c := range fixtures.Default.Checks() {
		want := map[fixtures.Kind]int{fixtures.WholeNode: 1, fixtures.EachGPU: 8, fixtures.UnorderedPair: 28, fixtures.OrderedPair: 56}[c.Kind]
		if len(of[c.ID]) != want {
			t.Errorf("%s has %d subjects, want %d", c.ID, len(of[c.ID]), want)
		}
	}
}

// What a check leaves behind changes nothing for those after it: they say what
// they say where they run first.
func TestNoCheckStandsInAnothersWay(t *testing.T) {
	binary := build(t)
	node := filepath.Join(t.TempDir(), "node.yaml")
	if err := os.WriteFile(node, []byte("version: 1\ngpus: {count: 2, model: NVIDIA H100 NVL, memory: 32MiB}\nnvlink: {version: 4, pairs: [{gpus: [0, 1], links: 12}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// They want access, no access, and the whole of the path.
	sensitive := []string{"ordering/message-passing", "transfer/staged", "bandwidth/write-ce"}
	run := func(checks ...string) map[string]result {
		out := filepath.Join(t.TempDir(), "out")
		said, _ := exec.Command(binary, "run", "-q", "--node", node, "-k", strings.Join(checks, " or "), "--out", out).CombinedOutput() // results tell
		all := map[string]result{}
		for _, r := range results(t, out, said) {
			all[r.ID] = r
		}
		return all
	}
	alone := run(sensitive...)
	for id, r := range alone {
		if r.Verdict != verdict.Pass {
			t.Errorf("%s: %s %s alone", id, r.Verdict, r.Code)
		}
	}
	if len(alone) != 2*len(sensitive) {
		t.Fatalf("%d specs alone, want both ways of %d checks", len(alone), len(sensitive))
	}
	options := gocmp.Options{gocmp.AllowUnexported(result{}), cmpopts.IgnoreFields(result{}, "steps")}
	for _, c := range fixtures.Default.Checks() {
		if area := c.Area(); area != "access" && area != "dereference" && area != "ordering" && area != "transfer" {
			continue
		}
		after := run(append(sensitive, c.ID)...)
		for id, want := range alone {
			if diff := gocmp.Diff(want, after[id], options); diff != "" {
				t.Errorf("%s, after %s (-alone +after):\n%s", id, c.ID, diff)
			}
		}
	}
}
