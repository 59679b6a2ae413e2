// Package github_test runs the workflow's own step, as a runner would, with a
// built peerproof on the PATH.
package github_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"
)

type step struct {
	Name, Run, Uses, If string
	Env                 map[string]string
	With                map[string]string
}

func steps(t *testing.T) []step {
	t.Helper()
	text, err := os.ReadFile("peerproof.yml")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs map[string]struct{ Steps []step }
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	all := workflow.Jobs["gate"].Steps
	if len(all) != 2 {
		t.Fatalf("%d steps", len(all))
	}
	return all
}

// Reports are kept whatever the step before came to.
func TestReportsAreAlwaysKept(t *testing.T) {
	upload := steps(t)[1]
	if upload.If != "always()" || upload.With["path"] != "peerproof-report/" || upload.With["if-no-files-found"] != "error" {
		t.Errorf("%+v", upload)
	}
}

func TestStep(t *testing.T) {
	program := os.Getenv("PEERPROOF_PROGRAM")
	if program == "" {
		t.Skip("PEERPROOF_PROGRAM names no built peerproof; make verify-github does")
	}
	const slowPair = "version: 1\nname: slow-pair\ngpus: {count: 4, model: NVIDIA H200, memory: 64MiB}\n" +
		"nvlink: {version: 4, switch: {links: 18}}\nfaults:\n  - {kind: slow, pair: [1, 2], factor: 0.5, when: always}\n"
	for name, c := range map[string]struct {
		args, deadline string
		exit           int
	}{
		"healthy":  {"--preset gate --node single", "5m", 0},
		"broken":   {"--preset gate --node slow.yaml", "5m", 1},
		"deadline": {"--node hgx-h200-8", "3s", 124},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "slow.yaml"), []byte(slowPair), 0o644); err != nil {
				t.Fatal(err)
			}
			// GitHub's own way to call bash.
			cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", steps(t)[0].Run)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"),
				"PEERPROOF_ARGS="+c.args, "PEERPROOF_DEADLINE="+c.deadline)
			out, err := cmd.CombinedOutput()
			code := 0
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			if code != c.exit {
				t.Errorf("exit %d, expected %d\n%s", code, c.exit, out)
			}
			if info, err := os.Stat(filepath.Join(dir, "peerproof-report", "junit.xml")); err != nil || info.Size() == 0 {
				t.Errorf("no JUnit report: %v\n%s", err, out)
			}
		})
	}
}
