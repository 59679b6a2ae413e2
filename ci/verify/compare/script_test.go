package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The test binary is the comparer too, for the script.
func TestMain(m *testing.M) {
	if os.Getenv("COMPARE_IS_THE_TEST") != "" {
		os.Exit(command(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// standIn is a peerproof that has run already: it copies journals, and writes
// down how it was called and in which environment.
const standIn = `#!/bin/bash
echo "$* [NVLS=$NCCL_NVLS_ENABLE ORDER=$CUDA_DEVICE_ORDER]" >>"$LAB/calls"
case $1 in
version) echo "peerproof x" ;;
topo) for i in $(seq 0 $((GPUS - 1))); do printf '"slot":"gpu%d",' "$i"; done ;;
profile) printf 'version: 1\nname: %s\n' "$3" ;;
run)
	journal=$LAB/seen
	while [ $# -gt 0 ]; do
		[ "$1" != --node ] || journal=$LAB/simulated
		[ "$1" != --out ] || out=$2
		shift
	done
	cp -r "$journal" "$out"
	exit "${RUN_EXIT:-0}"
	;;
esac
`

// script runs real.sh with stand-ins for everything that needs a GPU, and
// returns what it said, its exit code, the calls of peerproof and the folder.
func script(t *testing.T, env ...string) (said string, code int, calls, out string) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is missing")
	}
	seen, _ := folders(t)
	lab, here := filepath.Dir(seen), mustAbs(t, "testdata")
	put := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(lab, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(lab, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	put("peerproof", standIn)
	put("compare", "#!/bin/bash\nCOMPARE_IS_THE_TEST=1 exec '"+self+"' \"$@\"\n")
	put("nvbandwidth", "#!/bin/bash\ncat '"+here+"/nvbandwidth.json'\n")
	put("p2p", "#!/bin/bash\ncase \"$*\" in *sm_copy*) cat '"+here+"/p2p-sm.txt' ;; *) cat '"+here+"/p2p.txt' ;; esac\n")
	put("nccl/all_reduce_perf", "#!/bin/bash\ncat '"+here+"/all_reduce.txt'\n")
	for _, p := range []string{"all_gather", "reduce_scatter", "sendrecv"} {
		put("nccl/"+p+"_perf", "#!/bin/bash\necho no GPU; exit 3\n")
	}
	out = filepath.Join(lab, "out")
	cmd := exec.Command("bash", "../real.sh", out)
	cmd.Env = append(os.Environ(), "LAB="+lab, "PEERPROOF="+lab+"/peerproof", "COMPARE="+lab+"/compare", "NODE=", "PROFILE=", "GPUS=2", "GOCOVERDIR="+lab)
	for _, e := range env {
		cmd.Env = append(cmd.Env, strings.ReplaceAll(e, "LAB", lab))
	}
	text, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	log, _ := os.ReadFile(filepath.Join(lab, "calls"))
	return string(text), cmd.ProcessState.ExitCode(), string(log), out
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

func TestScriptWithTools(t *testing.T) {
	said, code, calls, out := script(t, "NVBANDWIDTH=LAB/nvbandwidth", "P2P_TEST=LAB/p2p", "NCCL_TESTS=LAB/nccl", "PROFILE=my-profile")
	if code != 1 {
		t.Errorf("exit %d: %s", code, said)
	}
	for _, want := range []string{"run -q --preset gate --profile my-profile --out", "run -q --profile my-profile --out", "run -q --preset rma --profile " + out + "/profile.yaml --out", "NVLS=0 ORDER=PCI_BUS_ID", "diff "} {
		if !strings.Contains(calls, want) {
			t.Errorf("no call %q in\n%s", want, calls)
		}
	}
	if strings.Contains(calls, "--loopback") {
		t.Errorf("two GPUs in loopback:\n%s", calls)
	}
	page, err := os.ReadFile(filepath.Join(out, "figures.md"))
	for _, want := range []string{"nvbandwidth v0.8", "p2pBandwidthLatencyTest writes", "p2pBandwidthLatencyTest --sm_copy writes", "all_reduce_perf"} {
		if err != nil || !strings.Contains(string(page), want) {
			t.Errorf("figures.md has no %s: %v", want, err)
		}
	}
	if profile, _ := os.ReadFile(filepath.Join(out, "profile.yaml")); string(profile) != "version: 1\nname: my-profile\nsoak: {seconds: 10}\n" {
		t.Errorf("%q", profile)
	}
	summary, _ := os.ReadFile(filepath.Join(out, "summary.md"))
	for _, want := range []string{"- **sendrecv_perf failed", "figures differ: see figures.md", "specs end otherwise", "exit 3: `timeout"} {
		if !strings.Contains(string(summary), want) {
			t.Errorf("summary.md has no %q:\n%s", want, summary)
		}
	}
	for _, name := range []string{"facts.md", "facts.json", "differences.md", "node.yaml", "topo.txt", "simulated/journal.jsonl", "gate/journal.jsonl", "acceptance/journal.jsonl"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
}

// One GPU is its own peer, and what is not there to be built is skipped aloud.
func TestScriptWithOneGPU(t *testing.T) {
	said, code, calls, out := script(t, "GPUS=1", "PATH=/usr/bin:/bin", "NVBANDWIDTH_SRC=", "CUDA_SAMPLES_SRC=", "NCCL_TESTS_SRC=")
	if code != 0 {
		t.Errorf("exit %d: %s", code, said)
	}
	runs := 0
	for _, line := range strings.Split(calls, "\n") {
		if strings.HasPrefix(line, "run ") {
			if runs++; !strings.Contains(line, "--loopback") {
				t.Errorf("not in loopback: %s", line)
			}
		}
	}
	if runs != 4 {
		t.Errorf("%d runs:\n%s", runs, calls)
	}
	summary, _ := os.ReadFile(filepath.Join(out, "summary.md"))
	for _, want := range []string{"1 GPU(s), so in LOOPBACK", "skipped: nvbandwidth: NVBANDWIDTH_SRC names no folder", "skipped: p2pBandwidthLatencyTest", "skipped: nccl-tests", "no tool left any"} {
		if !strings.Contains(string(summary), want) {
			t.Errorf("summary.md has no %q:\n%s", want, summary)
		}
	}
}

func TestScriptSaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		env  string
		code int
		want string
	}{
		"a run that fails":   {"RUN_EXIT=1", 1, "the run gate did not pass"},
		"no program":         {"PEERPROOF=LAB/nothing", 4, "there is no program"},
		"no GPU":             {"GPUS=0", 1, "there is no GPU"},
		"no folder":          {"NCCL_TESTS_SRC=LAB/nothing", 1, "which is no folder"},
		"no limit":           {"TOOL_LIMIT=soon", 4, "TOOL_LIMIT is soon; expected seconds"},
		"a dry run":          {"NODE=two", 0, "DRY RUN, SIMULATED: no real GPU was tested"},
		"a tool that breaks": {"NVBANDWIDTH=/bin/false", 1, "false failed or took more than"},
	} {
		said, code, _, _ := script(t, c.env)
		if code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit %d: %s", name, code, said)
		}
	}
}
