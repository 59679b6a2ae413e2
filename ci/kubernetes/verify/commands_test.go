package verify

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/kubernetes/pkg/apis/core"
)

const (
	healthy = `version: 1
gpus: {count: 2, model: NVIDIA H200, memory: 16MiB}
nvlink: {version: 4, switch: {links: 18}}
environment: {container: true}
`
	broken = healthy + "faults: [{kind: links-down, gpu: 1, links: [3, 4]}]\n"
	busy   = healthy + "faults: [{kind: busy, gpu: 0, pid: 4242}]\n"
	// Two of eight GPUs, as a pod that asks for nvidia.com/gpu: 2 has them.
	given = `version: 1
gpus: {count: 8, model: NVIDIA H200, memory: 16MiB}
nvlink: {version: 4, switch: {links: 18}}
environment: {container: true, given: [2, 3]}
`
)

// program is the peerproof that `make verify-k8s` has built.
func program(t *testing.T) string {
	t.Helper()
	path := os.Getenv("PEERPROOF")
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		t.Fatalf("PEERPROOF=%q is no program: run make verify-k8s", path)
	}
	return path
}

func nodeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "node.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// runContainer runs the container's command and arguments on a simulated node, as
// the kubelet would: $(NAME) filled in from its environment, and its volume for
// reports a folder of this machine. It returns the exit code and the output.
func runContainer(t *testing.T, c *core.Container, node string, more ...string) (code int, output string) {
	t.Helper()
	reports := t.TempDir()
	var words []string
	for _, word := range append(append([]string{}, c.Command...), c.Args...) {
		word = os.Expand(strings.NewReplacer("$(", "${", ")", "}").Replace(word), func(name string) string {
			for _, env := range c.Env {
				if env.Name == name && env.ValueFrom != nil {
					return strings.ReplaceAll(env.ValueFrom.FieldRef.FieldPath, ".", "-")
				}
			}
			t.Errorf("nothing sets $(%s)", name)
			return ""
		})
		for _, m := range c.VolumeMounts {
			if strings.HasPrefix(word, m.MountPath+"/") {
				word = strings.Replace(word, m.MountPath, reports, 1)
				break
			}
		}
		words = append(words, word)
	}
	if words[0] != "peerproof" {
		t.Fatalf("the container runs %s: a program in between may swallow the signal or the exit code", words[0])
	}
	cmd := exec.Command(program(t), append(append(words[1:], "--node", nodeFile(t, node)), more...)...)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	written, _ := filepath.Glob(filepath.Join(reports, "*", "junit.xml"))
	if len(written) != 1 {
		t.Errorf("%d runs in the volume for reports", len(written))
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// A broken node fails the Job, a healthy one completes it, and a pod that was
// given two of eight GPUs is told so.
func TestJobCommand(t *testing.T) {
	container := &theJob(t).Spec.Template.Spec.Containers[0]
	two := nodeFile(t, "version: 1\ngpus: {count: 2, model: NVIDIA H200}\n")
	for _, c := range []struct {
		name, node string
		flags      []string
		exit       int
		says       string
	}{
		{"healthy", healthy, []string{"--profile", two, "-k", "inventory or link or transfer/copy"}, 0, "PASS"},
		{"broken", broken, []string{"--profile", two, "-k", "inventory or link or transfer/copy"}, 1, "link/nvlink-active[gpu1] links-down"},
		{"two of eight", given, []string{"-k", "inventory/gpu-count"}, 1, "6 GPU(s) missing: gpu0 at 0000:18:00.0 is hidden by"},
	} {
		exit, output := runContainer(t, container, c.node, c.flags...)
		if exit != c.exit || !strings.Contains(output, c.says) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s", c.name, exit, c.exit, c.says, output)
		}
	}
}

// gate is the DaemonSet's script at work on a simulated node.
type gate struct {
	cmd  *exec.Cmd
	dir  string
	node string
}

func startGate(t *testing.T, node string) *gate {
	t.Helper()
	g := &gate{dir: t.TempDir(), node: nodeFile(t, node)}
	g.cmd = exec.Command("/bin/sh", filepath.Join(files, "gate.sh"))
	g.cmd.Env = append(os.Environ(), "PEERPROOF="+program(t), "PEERPROOF_ARGS=--node "+g.node, "PEERPROOF_INTERVAL=1",
		"PEERPROOF_DIR="+g.dir, "NODE_NAME=node17")
	g.cmd.Stdout, g.cmd.Stderr = os.Stderr, os.Stderr
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return g
}

// becomes changes the node under the script.
func (g *gate) becomes(t *testing.T, node string) {
	t.Helper()
	if err := os.WriteFile(g.node+".new", []byte(node), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(g.node+".new", g.node); err != nil {
		t.Fatal(err)
	}
}

func (g *gate) status() string {
	text, _ := os.ReadFile(filepath.Join(g.dir, "status"))
	return string(text)
}

// await waits for an answer that begins so.
func (g *gate) await(t *testing.T, prefix string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if strings.HasPrefix(g.status(), prefix) {
			return
		}
	}
	t.Fatalf("the answer is %q, want %q", g.status(), prefix)
}

// end tells the script to stop, as the kubelet does.
func (g *gate) end(t *testing.T) {
	t.Helper()
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- g.cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("the script ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		g.cmd.Process.Kill()
		t.Error("the script does not stop when it is told to")
	}
}

func TestGate(t *testing.T) {
	g := startGate(t, healthy)
	defer g.end(t)
	g.await(t, "0\nSIMULATED PARTIAL pass, ")

	g.becomes(t, broken)
	g.await(t, "1\nSIMULATED fail links-down link/nvlink-active[gpu1] serial ")
	if _, err := os.Stat(filepath.Join(g.dir, "last-bad", "junit.xml")); err != nil {
		t.Errorf("the reports are not kept: %v", err)
	}

	// While something computes the answer of before stays, and stays fresh.
	g.becomes(t, busy)
	time.Sleep(time.Second) // the test that was on its way
	g.await(t, "1\nSIMULATED fail links-down")
	before := modified(t, g)
	for end := time.Now().Add(time.Minute); !modified(t, g).After(before); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the answer grows old while the GPUs are busy")
		}
	}
	if !strings.HasPrefix(g.status(), "1\nSIMULATED fail links-down") {
		t.Errorf("a busy GPU was tested: %s", g.status())
	}

	g.becomes(t, "no node file")
	g.await(t, "4\npeerproof: --node: ")
}

func modified(t *testing.T, g *gate) time.Time {
	t.Helper()
	info, err := os.Stat(filepath.Join(g.dir, "status"))
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}

// A node that was at work from the first moment on is no good node.
func TestGateOfABusyNode(t *testing.T) {
	g := startGate(t, busy)
	defer g.end(t)
	g.await(t, "2\nnot tested yet: SIMULATED error gpu-busy inventory/busy[gpu0]")
}

// What the plug-in makes of each exit code, and of files that tell nothing.
func TestPlugin(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		name, status string
		age          time.Duration
		exit         int
		says         string
	}{
		{"all good", "0\npass, 9 of 9 specs passed\n", 0, 0, "pass, 9 of 9 specs passed"},
		{"failed", "1\nfail links-down link/nvlink-active[gpu1] serial 165\n", time.Hour, 1, "fail links-down link/nvlink-active[gpu1] serial 165"},
		{"interrupted", "2\nerror not-run inventory/busy[gpu0]\n", 0, 2, "error not-run inventory/busy[gpu0]"},
		{"internal", "3\npeerproof: disk full\n", 0, 2, "peerproof: disk full"},
		{"usage", "4\npeerproof: --profile: no such file\n", 0, 2, "peerproof: --profile: no such file"},
		{"nothing tested", "5\nskip no-gpu inventory/gpu-count\n", 0, 1, "skip no-gpu inventory/gpu-count"},
		{"the signal of a kill", "137\n\n", 0, 2, ""},
		{"empty", "", 0, 2, ""},
		{"no number", "what\n" + long + "\n", 0, 2, long},
		{"old", "0\npass\n", 3 * time.Hour, 2, "no answer of peerproof for 180 min: pass"},
		{"options and escapes are text", "1\n-n \\033[31m%s $(id)\n", 0, 1, `-n \033[31m%s $(id)`},
	} {
		path := filepath.Join(t.TempDir(), "status")
		if err := os.WriteFile(path, []byte(c.status), 0o644); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-c.age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		exit, says := plugin(path)
		if exit != c.exit || says != c.says {
			t.Errorf("%s: exit %d, want %d; says %q, want %q", c.name, exit, c.exit, says, c.says)
		}
	}
	if exit, says := plugin(filepath.Join(t.TempDir(), "none")); exit != 2 || !strings.HasPrefix(says, "no answer of peerproof yet") {
		t.Errorf("no file: exit %d, %q", exit, says)
	}
}

func plugin(status string) (exit int, says string) {
	cmd := exec.Command(filepath.Join(files, "node-problem-detector", "peerproof.sh"), status, strconv.Itoa(7200))
	out, _ := cmd.Output()
	return cmd.ProcessState.ExitCode(), strings.TrimSuffix(string(out), "\n")
}
