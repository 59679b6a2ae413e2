package runner

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// drainFor is how long the pipes of a child that has ended are still read.
// They end with it, unless a process that it left behind holds them open.
const drainFor = 500 * time.Millisecond

// child is one child process.
type child struct {
	cmd    *exec.Cmd
	stdout output
	stderr output
	gone   chan struct{} // closed by abandon: nobody listens any more
	reaped atomic.Bool   // its process id may be another's by now
}

// report is one message from a child, or how it ended (message nil).
type report struct {
	from    *child
	message *message
	end     *childEnd
}

// childEnd is how a child ended.
type childEnd struct {
	status string // "exit status 2", "signal: killed"
	signal string // SIGSEGV; also where Go turned it into an exit status
	zero   bool   // exit status 0
	broken string // it wrote something that is no message
}

// childEnv is what every child's environment has beside the caller's: CUDA
// numbers devices as NVML does, and loads every kernel before it is needed (the
// first launch of a lazily loaded one may wait for a device that a resident
// kernel keeps busy); Ginkgo writes plain text, and does not end the process
// where a suite has a focus.
var childEnv = []string{
	"CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_MODULE_LOADING=EAGER", "GINKGO_NO_COLOR=TRUE", "GINKGO_EDITOR_INTEGRATION=TRUE",
}

// starter runs functions on one OS thread that never ends. A child dies with
// the thread that started it (Pdeathsig), so it must be a thread that stays.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// startChild starts a child with a task, the encoded inventory that goes with a
// plan, and environment variables of its own.
// What it says, and at last how it ended, arrives at reports.
func startChild(command []string, t task, inventory []byte, env []string, reports chan<- report) (*child, error) {
	input, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("encode task: %w", err)
	}
	var pipes [3][2]*os.File // read and write ends of stdout, stderr, messages
	for i := range pipes {
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			closePipes(pipes)
			return nil, fmt.Errorf("start child: %w", err)
		}
	}
	c := &child{cmd: exec.Command(command[0], command[1:]...), gone: make(chan struct{})}
	c.cmd.Stdin = io.MultiReader(bytes.NewReader(input), bytes.NewReader(inventory))
	c.cmd.Stdout, c.cmd.Stderr = pipes[0][1], pipes[1][1]
	c.cmd.ExtraFiles = []*os.File{pipes[2][1]}
	c.cmd.WaitDelay = drainFor // for standard input
	c.cmd.Env = slices.Concat(os.Environ(), childEnv, env)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	starter() <- func() { started <- c.cmd.Start() }
	err = <-started
	for _, p := range pipes {
		_ = p[1].Close() // ours; the child has its own
	}
	if err != nil {
		closePipes(pipes)
		return nil, fmt.Errorf("start child: %w", err)
	}
	go c.follow(pipes[0][0], pipes[1][0], pipes[2][0], reports)
	return c, nil
}

func closePipes(pipes [3][2]*os.File) {
	for _, p := range pipes {
		for _, f := range p {
			if f != nil {
				_ = f.Close() // on the way to another error
			}
		}
	}
}

// follow hands on what the child says until it has ended.
func (c *child) follow(stdout, stderr, messages *os.File, reports chan<- report) {
	pipes := []*os.File{stdout, stderr, messages}
	var reading sync.WaitGroup
	reading.Add(3)
	go copyOutput(&c.stdout, stdout, &reading)
	go copyOutput(&c.stderr, stderr, &reading)
	var broken string
	go func() {
		defer reading.Done()
		broken = c.hear(messages, reports)
	}()

	_ = c.cmd.Wait() // how it ended stands in ProcessState
	c.kill()         // what it left behind in its group
	c.reaped.Store(true)
	for _, p := range pipes {
		_ = p.SetReadDeadline(time.Now().Add(drainFor)) // a pipe takes one
	}
	reading.Wait()
	for _, p := range pipes {
		_ = p.Close()
	}
	end := &childEnd{status: c.cmd.ProcessState.String(), zero: c.cmd.ProcessState.Success(), broken: broken}
	if ws, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		end.signal = unix.SignalName(ws.Signal())
	} else if !end.zero {
		end.signal = crashSignal(c.stderr.String())
	}
	c.send(reports, report{from: c, end: end})
}

// hear reads messages to their end, and says what was wrong with one.
func (c *child) hear(from *os.File, reports chan<- report) (broken string) {
	lines := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return broken // a torn last line tells nothing
		}
		m := &message{}
		if err := json.Unmarshal(line, m); err != nil {
			// Whatever holds our pipe has run wild.
			c.kill()
			return fmt.Sprintf("wrote %.80q where a message was expected", line)
		}
		if !c.send(reports, report{from: c, message: m}) {
			return broken
		}
	}
}

func (c *child) send(reports chan<- report, r report) bool {
	select {
	case reports <- r:
		return true
	case <-c.gone:
		return false
	}
}

// abandon says that nobody listens any more, so that nothing waits for it.
func (c *child) abandon() { close(c.gone) }

// pid is the process id, which is that of its group too.
func (c *child) pid() int { return c.cmd.Process.Pid }

// kill ends the child and its group at once. An error can only mean that there
// is nobody left.
func (c *child) kill() {
	if !c.reaped.Load() {
		_ = syscall.Kill(-c.pid(), syscall.SIGKILL)
	}
}

// dump has the child write down where its spec is, and end. One that hangs deep
// enough may not get round to it.
func (c *child) dump() {
	if !c.reaped.Load() {
		_ = syscall.Kill(c.pid(), syscall.SIGQUIT) // as in kill
	}
}
