package verify

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/node-problem-detector/pkg/custompluginmonitor"
	cpmtypes "k8s.io/node-problem-detector/pkg/custompluginmonitor/types"
	"k8s.io/node-problem-detector/pkg/types"
)

// localConfig is the configuration with the plug-in where it lies here, asked
// every 100 ms.
func localConfig(t *testing.T, status string) string {
	t.Helper()
	var config map[string]any
	if err := json.Unmarshal(read(t, "node-problem-detector/peerproof.json"), &config); err != nil {
		t.Fatal(err)
	}
	config["pluginConfig"].(map[string]any)["invoke_interval"] = "100ms"
	script, err := filepath.Abs(filepath.Join(files, "node-problem-detector", "peerproof.sh"))
	if err != nil {
		t.Fatal(err)
	}
	rule := config["rules"].([]any)[0].(map[string]any)
	rule["path"], rule["args"] = script, []string{status}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "peerproof.json")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// The file holds no key that node-problem-detector does not know.
func TestMonitorKeys(t *testing.T) {
	decoder := json.NewDecoder(bytes.NewReader(read(t, "node-problem-detector/peerproof.json")))
	decoder.DisallowUnknownFields()
	var config cpmtypes.CustomPluginConfig
	if err := decoder.Decode(&config); err != nil {
		t.Fatal(err)
	}
	if err := config.ApplyConfiguration(); err != nil {
		t.Fatal(err)
	}
	if len(config.Rules) != 1 || len(config.DefaultConditions) != 1 || *config.PluginGlobalConfig.MaxOutputLength < 120 {
		t.Errorf("a reason has up to 120 bytes: %+v", config)
	}
}

// node-problem-detector's own monitor runs the plug-in, and the node's condition
// follows what the DaemonSet's script writes.
func TestMonitor(t *testing.T) {
	status := filepath.Join(t.TempDir(), "status")
	monitor := custompluginmonitor.NewCustomPluginMonitorOrDie(localConfig(t, status))
	updates, err := monitor.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer monitor.Stop()
	awaitCondition := func(want types.ConditionStatus, reason, message string) {
		t.Helper()
		var last types.Condition
		for timeout := time.After(30 * time.Second); ; {
			select {
			case s := <-updates:
				last = s.Conditions[0]
				if last.Type == "GPUPeerProblem" && last.Status == want && last.Reason == reason && last.Message == message {
					return
				}
			case <-timeout:
				t.Fatalf("the condition is %+v; want %s, %s, %q", last, want, reason, message)
			}
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(status+".new", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(status+".new", status); err != nil {
			t.Fatal(err)
		}
	}
	const line = "fail links-down link/nvlink-active[gpu1] serial 1690341906660, 3 more"
	awaitCondition(types.Unknown, "NoFaultKnown", "no answer of peerproof yet: there is no "+status)
	write("0\npass, 50 of 61 specs passed\n")
	awaitCondition(types.False, "NoFaultKnown", "no fault of the GPUs is known")
	write("1\n" + line + "\n")
	awaitCondition(types.True, "GPUTestFailed", line)
	write("1\nerror hang access/enable-both-ways[gpu0-gpu1] serial 1\n")
	awaitCondition(types.True, "GPUTestFailed", "error hang access/enable-both-ways[gpu0-gpu1] serial 1")
	write("0\npass, 50 of 61 specs passed\n")
	awaitCondition(types.False, "NoFaultKnown", "no fault of the GPUs is known")
	write("4\npeerproof: --profile: no such file\n")
	awaitCondition(types.Unknown, "NoFaultKnown", "peerproof: --profile: no such file")
}
