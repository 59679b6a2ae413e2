package all_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// More lines of a node file.
const (
	two     = "gpus: {count: 2, model: NVIDIA L40S, memory: 16MiB}\n"
	hopper  = "gpus: {count: 2, model: NVIDIA H200, memory: 16MiB}\nnvlink: {version: 4, switch: {links: 18}}\n"
	trio    = "gpus: {count: 3, model: NVIDIA H200, memory: 16MiB}\nnvlink: {version: 4, switch: {links: 18}}\nenvironment: {nccl: true}\n"
	counted = "version: 1\ngpus: {count: 2}\n"
)

// nodes are servers of which whole checks do not apply, or cannot be decided.
// The faults beside them need a healthy server; these are what else there is.
var nodes = []struct{ name, node, profile string }{
	{"no NVLink", two, ""},
	{"NVLink that the profile expects and that is not there", two, "version: 1\nnvlink: {links: 4}\n"},
	{"one GPU", "gpus: {count: 1, model: NVIDIA L40S, memory: 16MiB}\nenvironment: {nccl: true}\n", ""},
	{"a virtual machine", hopper + "environment: {virtualised: true}\n", ""},
	{"an old driver", hopper + "driver: {version: 525.60.13, cuda: 12.0}\n", ""},
	{"one hidden GPU", hopper + "environment: {visible-devices: \"1\"}\n", ""},
	{"one hidden GPU that the profile counts", hopper + "environment: {visible-devices: \"1\"}\n", counted},
	{"all GPUs hidden", hopper + "environment: {visible-devices: \"7\"}\n", ""},
	{"all GPUs hidden, and counted", hopper + "environment: {visible-devices: \"7\"}\n", counted},
	{"an empty list of GPUs, and counted", hopper + "environment: {visible-devices: \" \"}\n", counted},
	{"a container given one of two", hopper + "environment: {container: true, given: [1]}\n", ""},
	{"a container given one of two that are counted", hopper + "environment: {container: true, given: [1]}\n", counted},
	{"no peers without NVLink", two + "pcie-p2p: false\nenvironment: {nccl: true}\n", ""},
	{"two CPU sockets, behind an IOMMU", two + "numa: [0, 1]\nenvironment: {iommu: on, nccl: true}\n", ""},
	{"MIG on one GPU", trio + "faults:\n  - {kind: mig, gpu: 0}\n", ""},
	{"one GPU without a context", trio + "faults:\n  - {kind: context, gpu: 0, error: 46}\n", ""},
	{"one GPU missing", trio + "faults:\n  - {kind: missing, gpu: 0}\n", ""},
	{"one GPU lost in the middle", trio + "faults:\n  - {kind: lost, gpu: 1, after: \"dereference/read[gpu0->gpu2]\"}\n", ""},
	{"room for one peer of each GPU", trio + "faults:\n  - {kind: too-many-peers, limit: 1}\n", ""},
	{"room for one connection of each GPU, whoever enabled it", trio + "faults:\n  - {kind: too-many-peers, limit: 1, both: true}\n", ""},
	{"no driver", two + "driver: none\n", counted},
	{"a driver of two versions", two + "driver: {version: 580.95.05, kernel-module: 570.10.01}\n", ""},
	{"a CUDA that does not start", hopper + "faults:\n  - {kind: cuda-init, error: 999}\n", ""},
	{"a fabric that is not up", hopper + "faults:\n  - {kind: cuda-init, error: 802}\n  - {kind: fabric, gpu: 0, state: in-progress}\n", ""},
	{"an NVLink fabric without access", trio + "faults:\n  - {kind: no-access, pair: [0, 1], both: true}\n", ""},
	{"no access at all", trio + "faults:\n  - {kind: no-access, pair: all}\n", ""},
	{"NVML silent about health", two + "faults:\n" +
		"  - {kind: nvml-error, gpu: 1, call: nvmlDeviceGetTemperature, return: 3}\n" +
		"  - {kind: nvml-error, gpu: 1, call: nvmlDeviceGetPowerUsage, return: 3}\n" +
		"  - {kind: nvml-error, gpu: 1, call: nvmlDeviceGetCurrentClocksEventReasons, return: 3}\n" +
		"  - {kind: nvml-error, gpu: 1, call: nvmlDeviceGetRemappedRows, return: 3}\n" +
		"  - {kind: nvml-error, gpu: 1, call: nvmlDeviceGetEccMode, return: 3}\n" +
		"  - {kind: nvml-error, gpu: 1, call: nvmlDeviceGetFieldValues, return: 3}\n", ""},
}

// What the checks say of each of these nodes.
func TestOddNodes(t *testing.T) {
	binary := build(t)
	said := make([]string, len(nodes))
	t.Run("each", func(t *testing.T) {
		for i, n := range nodes {
			t.Run(n.name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				node, profile, out := filepath.Join(dir, "node.yaml"), filepath.Join(dir, "profile.yaml"), filepath.Join(dir, "out")
				if err := os.WriteFile(node, []byte("version: 1\nname: odd\n"+n.node), 0o600); err != nil {
					t.Fatal(err)
				}
				args := []string{"run", "-q", "--node", node, "--out", out}
				if n.profile != "" {
					if err := os.WriteFile(profile, []byte(n.profile), 0o600); err != nil {
						t.Fatal(err)
					}
					args = append(args, "--profile", profile)
				}
				printed, _ := exec.Command(binary, args...).CombinedOutput() // its exit code is not what is asked here
				said[i] = n.name + "\n" + folded(results(t, out, printed))
			})
		}
	})
	if !slices.Contains(said, "") { // as where -run picks some
		golden(t, filepath.Join("testdata", "nodes.golden"), strings.Join(said, ""))
	}
}

// folded says of each verdict, code and message which checks ended in it, with
// how many of their subjects.
func folded(all []result) string {
	var order []string
	of := map[string][]string{} // checks by what they say
	count := map[string]int{}
	for _, r := range all {
		check, _, _ := strings.Cut(r.ID, "[")
		key := check + " " + r.verdict()
		if count[key]++; count[key] > 1 {
			continue
		}
		says := r.verdict() + ": " + r.Message
		if r.Hint != "" {
			says += "\n\t\t" + r.Hint
		}
		if of[says] == nil {
			order = append(order, says)
		}
		of[says] = append(of[says], key)
	}
	var b strings.Builder
	for _, says := range order {
		fmt.Fprintf(&b, "\t%s\n\t\t", says)
		for i, key := range of[says] {
			check, _, _ := strings.Cut(key, " ")
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s (%d)", check, count[key])
		}
		b.WriteString("\n")
	}
	return b.String()
}
