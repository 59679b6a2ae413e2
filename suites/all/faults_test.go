package all_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/runner/journal"
	_ "github.com/peerproof/peerproof/suites/all"
)

// fault is a way in which a check turns red: a fault of the simulated node, and
// the spec that must then end in a verdict and code. On the same node without
// the fault the same spec must be green.
type fault struct {
	spec string // the spec that turns red
	want string // verdict and code
	node string // the node without the fault; "" is nvlink
	keys string // the fault, or another line of the node file
	env  string // profile, its name or its YAML; "" for none
	also string // another spec that must run for it
	// green is what the spec is without the fault, where that is no pass.
	green string
}

// The nodes without a fault.
const (
	nvlink = "gpus: {count: 4, model: NVIDIA H200, memory: 16MiB}\nnvlink: {version: 4, switch: {links: 18}}\n"
	pcie   = "gpus: {count: 2, model: NVIDIA L40S, memory: 16MiB, pcie: {gen: 4, width: 16}}\n"
)

// faults has at least one entry for every check.
var faults = []fault{
	{spec: "inventory/gpu-count", want: "fail missing-gpu", keys: "{kind: missing, gpu: 3}"},
	{spec: "inventory/gpu-count", want: "fail missing-gpu", keys: "{kind: lost, gpu: 3}"},
	{spec: "inventory/model[gpu0]", want: "fail wrong-model", keys: "model", env: "hgx-h200-8"},
	{spec: "inventory/model[gpu1]", want: "error nvml-error", keys: "{kind: nvml-error, gpu: 1, call: nvmlDeviceGetName, return: 999}", env: "hgx-h200-8"},
	{spec: "inventory/identity[gpu1]", want: "fail unreadable-identity", keys: `{kind: identity, gpu: 1, uuid: ""}`},
	{spec: "inventory/identity[gpu1]", want: "fail unreadable-identity", keys: `{kind: identity, gpu: 1, serial: ""}`},
	{spec: "inventory/identity[gpu1]", want: "fail duplicate-identity", keys: `{kind: identity, gpu: 1, bus-id: "0000:18:00.0"}`},
	{spec: "inventory/identity[gpu1]", want: "fail duplicate-identity", keys: `{kind: identity, gpu: 1, serial: "1654167670319"}`},
	{spec: "inventory/identity[gpu1]", want: "fail duplicate-identity", keys: `{kind: identity, gpu: 1, uuid: GPU-d9a04077-026f-4ff2-a471-457d39a1096d}`},
	{spec: "inventory/identity[gpu1]", want: "error gpu-lost", keys: "{kind: lost, gpu: 1}"},
	{spec: "inventory/cuda-init", want: "fail cuda-init-failed", keys: "{kind: cuda-init, error: 802}"},
	{spec: "inventory/context[gpu2]", want: "fail context-failed", keys: "{kind: context, gpu: 2, error: 46}"},
	{spec: "inventory/context[gpu2]", want: "error gpu-lost", keys: "{kind: lost, gpu: 2}"},
	{spec: "inventory/driver-match", want: "fail version-mismatch", keys: "driver: {version: 580.95.05, kernel-module: 570.10.01}"},
	{spec: "inventory/driver-match", want: "fail driver-missing", keys: "driver: none"},
	{spec: "inventory/busy[gpu1]", want: "error gpu-busy", keys: "{kind: busy, gpu: 1, pid: 77}"},
	{spec: "inventory/busy[gpu1]", want: "error nvml-error", keys: "{kind: nvml-error, gpu: 1, call: nvmlDeviceGetComputeRunningProcesses, return: 999}"},
	{spec: "link/nvlink-active[gpu1]", want: "fail links-down", keys: "{kind: links-down, gpu: 1, links: [4, 9]}"},
	{spec: "link/nvlink-active[gpu1]", want: "error nvml-error", keys: "{kind: nvml-error, gpu: 1, call: nvmlDeviceGetNvLinkState, return: 999}"},
	{spec: "link/pcie-idle[gpu1]", want: "error nvml-error", keys: "{kind: nvml-error, gpu: 1, call: nvmlDeviceGetCurrPcieLinkWidth, return: 999}"},
	{spec: "link/pcie-loaded[gpu1]", want: "fail pcie-downgraded", node: pcie, keys: "{kind: pcie-link, gpu: 1, idle: {gen: 1, width: 16}, loaded: {gen: 3, width: 16}}"},
	{spec: "link/pcie-loaded[gpu1]", want: "fail pcie-downgraded", node: pcie, keys: "{kind: pcie-link, gpu: 1, idle: {gen: 4, width: 8}, loaded: {gen: 4, width: 8}}"},
	{spec: "fabric/state[gpu1]", want: "fail fabric-not-ready", keys: "{kind: fabric, gpu: 1, state: in-progress}"},
	{spec: "fabric/state[gpu1]", want: "fail fabric-status", keys: "{kind: fabric, gpu: 1, state: completed, status: insufficient-resources}"},
	{spec: "fabric/state[gpu1]", want: "fail fabric-unhealthy", keys: "{kind: fabric, gpu: 1, state: completed, status: success, health: unhealthy}"},
	{spec: "fabric/state[gpu1]", want: "fail fabric-unhealthy", keys: "{kind: fabric, gpu: 1, state: completed, status: success, health: limited-capacity}"},
	{spec: "access/capability-symmetric[gpu0-gpu1]", want: "fail one-way-access", keys: "{kind: no-access, pair: [1, 0]}"},
	{spec: "access/capability[gpu0->gpu1]", want: "fail no-access", node: pcie, keys: "{kind: no-access, pair: [0, 1], both: true}"},
	{spec: "access/enable-both-ways[gpu0-gpu1]", want: "fail enable-failed", keys: "{kind: enable-fails, pair: [1, 0], error: 999}"},
	{spec: "access/enable-both-ways[gpu0-gpu1]", want: "fail not-bidirectional", keys: "{kind: illegal-address, pair: [1, 0], engine: sm-read}"},
	{spec: "access/enable-both-ways[gpu0-gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [1, 0], engine: sm-read, offset: 77, bit: 3}"},
	{spec: "access/one-way-is-one-way[gpu0->gpu1]", want: "fail leaky-access", keys: "{kind: leaky-access, pair: [0, 1]}"},
	{spec: "dereference/read[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [0, 1], engine: sm-read, offset: 1048575, bit: 7}"},
	{spec: "dereference/read[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: stale, pair: [0, 1], engine: sm-read, offset: 1044480}"},
	{spec: "dereference/read[gpu0->gpu1]", want: "error enable-failed", keys: "{kind: enable-fails, pair: [0, 1], error: 999}"},
	{spec: "dereference/write[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [0, 1], engine: sm-write, offset: 0, bit: 0}"},
	{spec: "dereference/write[gpu0->gpu1]", want: "fail not-visible-to-owner", keys: "{kind: stale, pair: [0, 1], engine: sm-write, offset: 4096}"},
	{spec: "transfer/first[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: stale, pair: [0, 1], engine: ce, first-only: true}"},
	{spec: "transfer/copy[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [0, 1], engine: ce-write, offset: 1048575, bit: 1}"},
	{spec: "transfer/staged[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [0, 1], engine: ce, offset: 9, bit: 1}"},
	{spec: "bandwidth/read-ce[gpu0->gpu1]", want: "fail below-floor", keys: "{kind: slow, pair: [0, 1], engine: ce-read, factor: 0.7, when: always}"},
	{spec: "bandwidth/read-ce[gpu0->gpu1]", want: "error above-theory", keys: "efficiency: {nvlink: 1}", env: "version: 1\nnvlink: {links: 16, switched: true}\n"},
	{spec: "bandwidth/read-ce[gpu0->gpu1]", want: "pass", keys: "environment: {virtualised: true}"},
	{spec: "bandwidth/read-ce[gpu0->gpu1]", want: "pass", keys: "environment: {virtualised: true}", env: "version: 1\nnvlink: {links: 18, switched: true}\n"},
	{spec: "bandwidth/read-ce[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [0, 1], engine: ce-read, offset: 5, bit: 1}"},
	{spec: "bandwidth/write-ce[gpu0->gpu1]", want: "fail below-floor", keys: "{kind: slow, pair: [0, 1], engine: ce-write, factor: 0.7, when: always}"},
	{spec: "bandwidth/read-sm[gpu0->gpu1]", want: "fail below-floor", keys: "{kind: slow, pair: [0, 1], engine: sm-read, factor: 0.6, when: always}"},
	{spec: "bandwidth/write-sm[gpu0->gpu1]", want: "fail below-floor", keys: "{kind: slow, pair: [0, 1], engine: sm-write, factor: 0.6, when: always}"},
	{spec: "bandwidth/write-ce[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [0, 1], engine: ce-write, offset: 1048575, bit: 1}"},
	{spec: "bandwidth/read-sm[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [0, 1], engine: sm-read, offset: 1048575, bit: 1}"},
	{spec: "bandwidth/write-sm[gpu0->gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, pair: [0, 1], engine: sm-write, offset: 1048575, bit: 1}"},
	{spec: "bandwidth/symmetric[gpu0-gpu1]", want: "fail asymmetric", keys: "{kind: slow, pair: [1, 0], engine: ce-read, factor: 0.85, when: always}"},
	{spec: "bandwidth/symmetric[gpu0-gpu1]", want: "fail asymmetric", keys: "{kind: slow, pair: [0, 1], engine: ce-write, factor: 0.85, when: always}"},
	{spec: "bandwidth/like-its-peers[gpu0->gpu1]", want: "fail outlier", keys: "{kind: slow, pair: [0, 1], engine: ce-read, factor: 0.9, when: always}"},
	{spec: "bandwidth/like-its-peers[gpu0->gpu1]", want: "fail outlier", keys: "{kind: slow, pair: [0, 1], engine: ce-write, factor: 0.9, when: always}"},
	{spec: "bandwidth/host-to-device[gpu1]", want: "fail below-floor", node: pcie, keys: "{kind: pcie-link, gpu: 1, idle: {gen: 3, width: 16}, loaded: {gen: 3, width: 16}}"},
	{spec: "bandwidth/device-to-host[gpu1]", want: "fail below-floor", node: pcie, keys: "{kind: pcie-link, gpu: 1, idle: {gen: 4, width: 8}, loaded: {gen: 4, width: 8}}"},
	{spec: "bandwidth/host-to-device[gpu1]", want: "fail data-mismatch", node: pcie, keys: "{kind: corrupt, gpu: 1, offset: 524288, bit: 1}"},
	{spec: "bandwidth/device-to-host[gpu1]", want: "fail data-mismatch", node: pcie, keys: "{kind: corrupt, gpu: 1, offset: 1572864, bit: 1}"},
	{spec: "bandwidth/local[gpu1]", want: "fail below-floor", keys: "{kind: slow, gpu: 1, factor: 0.5, when: always}"},
	{spec: "bandwidth/local[gpu1]", want: "fail data-mismatch", keys: "{kind: corrupt, gpu: 1, offset: 1572864, bit: 1}"},
}

// file is the node file of a fault, or of the node without it.
func (f fault) file(faulty bool) string {
	node := f.node
	if node == "" {
		node = nvlink
	}
	switch {
	case !faulty:
	case strings.HasPrefix(f.keys, "{"):
		node += "faults:\n  - " + f.keys + "\n"
	case f.keys == "model":
		node = strings.Replace(node, "NVIDIA H200", "NVIDIA H100 80GB HBM3", 1)
	default:
		node += f.keys + "\n"
	}
	return "version: 1\nname: fault\n" + node
}

// build makes the real binary, once for all tests.
func build(t *testing.T) string {
	t.Helper()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

var built = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(folder, "peerproof")
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/peerproof/peerproof/cmd/peerproof").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building peerproof: %w\n%s", err, out)
	}
	return binary, nil
})

// folder is where the binary is built.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "peerproof-*"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(folder) // a folder that stays is no fault of a check
	os.Exit(code)
}

// update writes the golden files again: read the difference before you keep it.
var update = flag.Bool("update", false, "write the golden files again")

func TestEveryCheckTurnsRed(t *testing.T) {
	binary := build(t)
	covered := map[string]bool{}
	said := make([]string, len(faults))
	t.Run("each", func(t *testing.T) {
		for i, f := range faults {
			covered[f.check()] = true
			t.Run(fmt.Sprintf("%02d %s %s", i, f.spec, f.want), func(t *testing.T) {
				t.Parallel()
				red := run(t, binary, f, true)
				if got := red.verdict(); got != f.want {
					t.Errorf("with %s: %s, want %s", f.keys, got, f.want)
				}
				green := run(t, binary, f, false)
				if got, want := green.verdict(), cmp.Or(f.green, "pass"); got != want && !strings.HasPrefix(got, "skip no-profile") {
					t.Errorf("without the fault: %s, want %s", got, want)
				}
				said[i] = fmt.Sprintf("%s with %s\n%swithout\n%s\n", f.spec, f.keys, red, green)
			})
		}
	})
	for _, c := range fixtures.Default.Checks() {
		if !covered[c.ID] {
			t.Errorf("%s (%s) has no fault here that turns it red", c.ID, c.Where)
		}
	}
	if !slices.Contains(said, "") { // as where -run picks some
		golden(t, filepath.Join("testdata", "faults.golden"), strings.Join(said, ""))
	}
}

// check is the id of the fault's check.
func (f fault) check() string {
	id, _, _ := strings.Cut(f.spec, "[")
	return id
}

// result is what a run's reports and journal say of one spec.
type result struct {
	ID string `json:"id"`
	verdict.Outcome
	Measurements []verdict.Measurement `json:"measurements"`
	steps        []string
}

func (r result) verdict() string { return strings.TrimSpace(string(r.Verdict) + " " + r.Code) }

// String is the result on lines of its own, without what a clock decides.
func (r result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\t%s: %s\n", r.verdict(), r.Message)
	if r.Hint != "" {
		fmt.Fprintf(&b, "\thint: %s\n", r.Hint)
	}
	for _, s := range r.steps {
		fmt.Fprintf(&b, "\tstep: %s\n", s)
	}
	for _, m := range r.Measurements {
		fmt.Fprintf(&b, "\t%s: %.4g %s, floor %.4g of %.4g, %d samples\n", m.Name, m.Value, m.Unit, m.Floor, m.Theoretical, len(m.Samples))
	}
	return b.String()
}

// golden compares a document with the file that it is kept in.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s differs (-want +got); go test ./suites/all -update keeps what is right:\n%s", file, diff)
	}
}

// run tests a node and returns what became of the spec.
func run(t *testing.T, binary string, f fault, faulty bool) result {
	dir := t.TempDir()
	node, out := filepath.Join(dir, "node.yaml"), filepath.Join(dir, "out")
	if err := os.WriteFile(node, []byte(f.file(faulty)), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"run", "-q", "--node", node, "--out", out, "-k", strings.TrimPrefix(f.also+" or "+f.spec, " or ")}
	if check, _ := fixtures.Default.Check(f.check()); slices.Contains(check.Labels, "slow") {
		args = append(args, "-m", "slow")
	}
	switch {
	case strings.HasPrefix(f.env, "version:"):
		file := filepath.Join(dir, "profile.yaml")
		if err := os.WriteFile(file, []byte(f.env), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--profile", file)
	case f.env != "":
		args = append(args, "--profile", f.env)
	}
	said, _ := exec.Command(binary, args...).CombinedOutput() // its exit code is not what is asked here
	for _, r := range results(t, out, said) {
		if r.ID == f.spec {
			return r
		}
	}
	t.Fatalf("no spec of the id %s:\n%s", f.spec, said)
	return result{}
}

// results reads what a run left in a folder.
func results(t *testing.T, dir string, said []byte) []result {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "results.json"))
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	var document struct {
		Specs []result `json:"specs"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	steps := map[string][]string{}
	lines := json.NewDecoder(file)
	for {
		var e journal.Event
		if err := lines.Decode(&e); err != nil {
			break
		}
		if e.Type == journal.TypeStep {
			steps[e.Spec] = append(steps[e.Spec], e.Text)
		}
	}
	for i := range document.Specs {
		document.Specs[i].steps = steps[document.Specs[i].ID]
	}
	return document.Specs
}
