package all_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/verdict"
)

// embedded are the embedded nodes on which a check is looked for green, the
// quickest first.
var embedded = []string{"pcie-4", "h100-nvl-4", "hgx-h200-8"}

// elsewhere are the checks that no embedded node can show.
var elsewhere = map[string]string{"inventory/container": "none is in a container; a node of the fault's kind with 1 GiB of /dev/shm"}

const tableHead = `# What turns each check red

A check that cannot fail is decoration. For each one: a fault of a simulated
node, in the words of the node file, that turns it red; the verdict and code
that it then gets; and an embedded node on which all its specs pass, held to the
node's own profile. A test makes both and writes this table:
` + "`go test ./suites/all -update`" + `. All faults, with the message, hint and figures that
follow, stand in [faults.golden](../suites/all/testdata/faults.golden).

| check | turned red by | it is then | green on |
|---|---|---|---|
`

// Every check passes on an embedded node that its own profile is held to, with
// all its subjects; docs/faults.md says which, beside what turns it red.
func TestEveryCheckIsGreenSomewhere(t *testing.T) {
	binary := build(t)
	green := map[string]string{}
	var left, slow []string
	for _, c := range fixtures.Default.Checks() {
		if slices.Contains(c.Labels, "slow") {
			slow = append(slow, c.ID)
		} else {
			left = append(left, c.ID)
		}
	}
	for _, node := range embedded {
		passed := passing(t, binary, "--node", node, "--profile", node, "-k", strings.Join(left, " or "))
		left = slices.DeleteFunc(left, func(check string) bool {
			if passed[check] {
				green[check] = "`" + node + "`"
			}
			return passed[check]
		})
	}
	profile := filepath.Join(t.TempDir(), "quick.yaml")
	if err := os.WriteFile(profile, []byte(quick), 0o600); err != nil {
		t.Fatal(err)
	}
	passed := passing(t, binary, "--node", embedded[0], "--profile", profile, "-m", "slow", "-k", "size-curve or soak[gpu0]")
	for _, check := range slow {
		if passed[check] {
			green[check] = "`" + embedded[0] + "`"
		} else {
			left = append(left, check)
		}
	}
	for _, check := range left {
		if green[check] = elsewhere[check]; green[check] == "" {
			t.Errorf("%s is green on none of %v", check, embedded)
		}
	}
	var table strings.Builder
	table.WriteString(tableHead)
	for _, c := range fixtures.Default.Checks() {
		i := slices.IndexFunc(faults, func(f fault) bool { return f.check() == c.ID })
		if i < 0 {
			continue // TestEveryCheckTurnsRed says so
		}
		fmt.Fprintf(&table, "| `%s` | `%s` | %s | %s |\n", c.ID, strings.ReplaceAll(faults[i].keys, "\n", "`, `"), faults[i].want, green[c.ID])
	}
	golden(t, filepath.Join("..", "..", "docs", "faults.md"), table.String())
}

// passing runs a node and returns the checks that passed for all their
// subjects.
func passing(t *testing.T, binary string, args ...string) map[string]bool {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	said, _ := exec.Command(binary, append([]string{"run", "-q", "--out", out}, args...)...).CombinedOutput() // its exit code is not what is asked here
	passed := map[string]bool{}
	for _, r := range results(t, out, said) {
		check, _, _ := strings.Cut(r.ID, "[")
		before, seen := passed[check]
		passed[check] = r.Verdict == verdict.Pass && (before || !seen)
	}
	return passed
}
