package runner

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/profile"
	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
)

// messageFD is the file descriptor on which a child speaks.
const messageFD = 3

// Worker is the child: it reads its task as JSON from standard input and
// reports on file descriptor 3. The program that Options.Command names calls
// it, and exits with 0 if it returns nil.
func Worker() error {
	out, err := openMessages()
	if err != nil {
		return err
	}
	dieOfSignals()
	w := &worker{out: bufio.NewWriterSize(out, 32<<10)}
	w.in = json.NewDecoder(os.Stdin)
	if err := w.in.Decode(&w.task); err != nil {
		return fmt.Errorf("worker: read task: %w", err)
	}
	work := w.run
	switch w.task.Kind {
	case taskHelper:
		return w.help(out)
	case taskDiscover:
		work = w.discover
	case taskMonitor:
		work = w.monitor
	}
	if err := work(); err != nil {
		w.say(message{Kind: msgFailed, Text: err.Error()})
	} else {
		w.say(message{Kind: msgDone})
	}
	w.flush()
	return nil
}

// openMessages takes the pipe that the parent passed.
func openMessages() (*os.File, error) {
	var st unix.Stat_t
	if err := unix.Fstat(messageFD, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil, errors.New("worker is how peerproof starts its child processes; it is not for use by hand")
	}
	unix.CloseOnExec(messageFD) // no process that a suite starts holds the pipe
	return os.NewFile(messageFD, "messages"), nil
}

// dieOfSignals makes the signals by which a process is asked to end do so.
// Ginkgo catches them, and would go on to skip every spec that is left. SIGQUIT
// is how the parent asks where the spec hangs.
func dieOfSignals() {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		sig := <-caught
		if sig == syscall.SIGQUIT {
			fmt.Fprintln(os.Stderr, "the spec's goroutines:\n"+specGoroutines())
			sig = syscall.SIGKILL
		}
		signal.Reset()
		if s, ok := sig.(syscall.Signal); ok {
			_ = syscall.Kill(syscall.Getpid(), s) // to oneself it is always allowed
		}
	}()
}

// worker is a child at work.
type worker struct {
	task task
	in   *json.Decoder // what follows the task

	mu  sync.Mutex // guards out
	out *bufio.Writer
}

// say queues a message. What runs now must be flushed before it runs.
func (w *worker) say(m message) {
	line, err := json.Marshal(m)
	if err != nil {
		// A figure that is no number is all that cannot be encoded.
		line, _ = json.Marshal(message{Kind: msgStep, Spec: m.Spec, Text: err.Error()}) // a text can
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.out.Write(append(line, '\n')) // the writer keeps its error for Flush
}

// flush brings all messages to the parent. A parent that is gone needs none,
// and takes its child along.
func (w *worker) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.out.Flush() != nil {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL) // to oneself it is always allowed
	}
}

// block waits for the parent to kill this process.
func (w *worker) block() {
	w.flush()
	select {}
}

// discover makes the inventory.
func (w *worker) discover() error {
	bundle, err := w.task.bundle(fixtures.Default, nil)
	if err != nil {
		return err
	}
	name, err := w.task.simulatedName()
	if err != nil {
		return err
	}
	node, err := topology.Discover(bundle, topology.DiscoverOptions{
		Ask: func(subject, question string) func(topology.Call) {
			key := topology.Key(subject, question)
			w.say(message{Kind: msgQuestion, Text: key})
			w.flush()
			return func(c topology.Call) {
				w.say(message{Kind: msgQuestion, Text: key, Call: &c})
				w.flush()
			}
		},
		Skip: w.task.Skip, Simulated: name, Own: []int{os.Getpid(), os.Getppid()},
	})
	if err != nil {
		return err
	}
	w.say(message{Kind: msgNode, Node: node})
	return nil
}

// run runs the specs of the task.
func (w *worker) run() error {
	node := &topology.Node{}
	if err := w.in.Decode(node); err != nil {
		return fmt.Errorf("read inventory: %w", err)
	}
	config, err := w.config(node)
	if err != nil {
		return err
	}
	g := &grove{worker: w, self: w.watchSelf(config.Bundle, node)}
	config.StartHelper = w.helpers(node)
	config.Measure = func(_ string, m verdict.Measurement) {
		w.say(message{Kind: msgMeasure, Spec: g.current, Measurement: &m})
	}
	g.session = fixtures.NewSession(config)
	place := 0
	for _, b := range w.task.Plan {
		specs, err := b.specs(fixtures.Default)
		if err != nil {
			return err
		}
		for len(specs) > 0 {
			n := min(len(specs), treeSize)
			g.grow(place, specs[:n])
			place, specs = place+n, specs[n:]
		}
	}
	w.flush()
	if err := g.session.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "give the node back:", err) // nothing hangs on it any more
	}
	return nil
}

// config is what the task's session works on.
func (w *worker) config(node *topology.Node) (fixtures.Config, error) {
	c := fixtures.Config{Node: node, Loopback: w.task.Loopback, Earlier: w.task.Earlier, Xids: w.task.Xids, GivenUp: w.task.GivenUp}
	if w.task.XidSources != nil {
		c.XidSources = *w.task.XidSources
	}
	var visible []string
	if w.task.Visible != nil {
		visible = uuids(node, w.task.Visible)
	}
	var err error
	if c.Bundle, err = w.task.bundle(fixtures.Default, visible); err != nil {
		return c, err
	}
	if w.task.Profile != "" || w.task.ProfileText != "" {
		c.Profile, err = profile.Parse(w.task.Profile, []byte(w.task.ProfileText))
	}
	return c, err
}
