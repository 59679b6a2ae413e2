package runner

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/topology"
)

// taskHelper is the task of a process that a child starts beside itself: to
// play a role of package fixtures. It stays in the child's process group, so
// whoever kills the child kills both, and dies with the child (Pdeathsig).
const taskHelper = "helper"

// helpers starts helpers on the node as this child sees it.
func (w *worker) helpers(node *topology.Node) func(role string, env ...string) (fixtures.Helper, error) {
	starter() // first used by a spec, its goroutine would carry that spec's label
	return func(role string, env ...string) (fixtures.Helper, error) {
		t := task{
			Kind: taskHelper, Role: role, Node: w.task.Node, NodeText: w.task.NodeText,
			Profile: w.task.Profile, ProfileText: w.task.ProfileText,
			Loopback: w.task.Loopback, Visible: w.task.Visible, Started: w.task.Started,
		}
		program, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("start helper: %w", err)
		}
		h, err := startHelper(exec.Command(program, os.Args[1:]...), env)
		if err != nil {
			return nil, fmt.Errorf("start helper: %w", err)
		}
		if err := h.begin(t, node); err != nil {
			return nil, fmt.Errorf("start helper: %w", err)
		}
		return h, nil
	}
}

// helper is a helper process, and the pipes to it and from it.
type helper struct {
	cmd     *exec.Cmd
	in, out *os.File
}

func startHelper(cmd *exec.Cmd, env []string) (*helper, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		_, _ = childIn.Close(), in.Close() // on the way to another error
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{childOut} // messageFD
	cmd.Env = environ(env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	starter() <- func() { started <- cmd.Start() }
	err = <-started
	_, _ = childIn.Close(), childOut.Close() // ours; the helper has its own
	if err != nil {
		_, _ = in.Close(), out.Close() // as above
		return nil, err
	}
	return &helper{cmd: cmd, in: in, out: out}, nil
}

// environ is this process's environment with changes: NAME=value sets a
// variable, NAME alone takes it away.
func environ(changes []string) []string {
	all := os.Environ()
	for _, change := range changes {
		name, _, set := strings.Cut(change, "=")
		all = slices.DeleteFunc(all, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		if set {
			all = append(all, change)
		}
	}
	return all
}

// begin tells the helper its task.
func (h *helper) begin(t task, node *topology.Node) error {
	err := h.SetDeadline(time.Now().Add(helperPatience))
	for _, part := range []any{t, node} {
		if err == nil {
			err = json.NewEncoder(h).Encode(part)
		}
	}
	if err != nil {
		_ = h.Close() // the first error says more
	}
	return err
}

// helperPatience is how long a helper may take to take its task, and at the
// end to give back what it has.
const helperPatience = 3 * time.Second

func (h *helper) Read(b []byte) (int, error)  { return h.out.Read(b) }
func (h *helper) Write(b []byte) (int, error) { return h.in.Write(b) }

func (h *helper) SetDeadline(t time.Time) error {
	if err := h.in.SetWriteDeadline(t); err != nil {
		return err
	}
	return h.out.SetReadDeadline(t)
}

// Close ends the requests, upon which the helper gives back what it has and
// ends; one that does not is killed.
func (h *helper) Close() error {
	_ = h.in.Close() // the helper sees the end either way
	if h.out.SetReadDeadline(time.Now().Add(helperPatience)) == nil {
		_, _ = io.Copy(io.Discard, h.out) // until it has ended, or its time has
	}
	_ = h.cmd.Process.Kill() // that it is gone already is what is hoped for
	err := h.cmd.Wait()
	_ = h.out.Close() // only read
	return err
}

// help is the helper's side.
func (w *worker) help(out io.Writer) error {
	node := &topology.Node{}
	if err := w.in.Decode(node); err != nil {
		return fmt.Errorf("helper: read inventory: %w", err)
	}
	config, err := w.config(node)
	if err != nil {
		return err
	}
	session := fixtures.NewSession(config)
	if err := session.Help(w.task.Role, w.in, out); err != nil {
		return err
	}
	return session.Close()
}
