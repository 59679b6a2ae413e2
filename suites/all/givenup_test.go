package all_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peerproof/peerproof/fixtures/verdict"
)

// A GPU that hangs with every partner costs the specs of the whole node
// nothing: they run on the others, and say so.
func TestSpecsOfTheNodeLeaveOutWhatWasGivenUp(t *testing.T) {
	binary := build(t)
	dir := t.TempDir()
	node, out := filepath.Join(dir, "node.yaml"), filepath.Join(dir, "out")
	text := "version: 1\nname: hangs\n" + nvlink + "environment: {nccl: true}\nfaults:\n"
	for _, partner := range []string{"0", "1", "3"} {
		text += "  - {kind: hang, pair: [2, " + partner + "]}\n"
	}
	if err := os.WriteFile(node, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	whole := []string{
		"transfer/all-pairs", "bandwidth/concurrent", "bandwidth/all-to-one[gpu1]", "bandwidth/one-to-all[gpu1]",
		"collective/all-reduce", "collective/p2p-speedup",
	}
	keyword := "dereference/read or " + strings.Join(whole, " or ")
	said, _ := exec.Command(binary, "run", "-q", "--timeout", "8s", "--node", node, "--out", out, "-k", keyword).CombinedOutput() // results tell
	all := map[string]result{}
	for _, r := range results(t, out, said) {
		all[r.ID] = r
	}
	if r := all["dereference/read[gpu3->gpu2]"]; r.Code != verdict.NotRun {
		t.Errorf("dereference/read[gpu3->gpu2]: %s %s: gpu2 is not given up, so that nothing is shown", r.Verdict, r.Code)
	}
	for _, id := range whole {
		r := all[id]
		if r.Verdict != verdict.Pass || !strings.Contains(r.Message, "on gpu0, gpu1, gpu3; gpu2 was given up: it hung with 3 different partners") {
			t.Errorf("%s: %s %s %q", id, r.Verdict, r.Code, r.Message)
		}
	}
}
