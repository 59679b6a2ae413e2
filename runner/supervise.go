package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/profile"
	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/runner/journal"
)

// fruitlessLimit is how many children may end without a verdict before the
// first spec that they were given is held to be the cause.
const fruitlessLimit = 3

// dumpFor is how long a child that hangs may take to write down what its
// goroutines wait for.
const dumpFor = 2 * time.Second

// supervisor runs the specs of a ledger in child processes.
type supervisor struct {
	*ledger
	command   []string
	task      task // what all its children are told
	node      *topology.Node
	inventory []byte        // node, encoded
	timeout   time.Duration // of each spec; 0: its check's own
	expected  *profile.Profile
	witness

	reports chan report
	live    map[*child]*watch
	alarm   *time.Timer
	alarmAt time.Time
	stop    string // why no further spec runs; "" while they do
	failure error  // the harness's own
	// fruitless counts the children that ended without any verdict, by the
	// place of the first spec that they were given.
	fruitless map[int]int
}

// watch is what the supervisor knows of a child that runs specs.
type watch struct {
	child *child
	specs []int // by place in the child's plan: the place in the ledger's
	alone bool  // an isolated spec's own child

	running  int // place in the ledger's plan; -1: none
	began    time.Time
	step     string // its last progress line
	tree     []int  // specs whose tree is being built
	deadline time.Time
	late     time.Duration // it was killed for exceeding this
	killed   bool          // by us
	replaced bool          // it asked for it
	done     bool          // it said that it was through
	verdicts int
}

func newSupervisor(l *ledger, command []string, t task, node *topology.Node, timeout time.Duration) (*supervisor, error) {
	inventory, err := json.Marshal(node)
	if err != nil {
		return nil, fmt.Errorf("encode inventory: %w", err)
	}
	return &supervisor{
		ledger: l, command: command, task: t, node: node, inventory: inventory, timeout: timeout,
		reports: make(chan report, 64), live: map[*child]*watch{}, fruitless: map[int]int{}, alarm: time.NewTimer(time.Hour),
	}, nil
}

// run gives every spec of the plan a verdict. It returns why it stopped
// before the end, "" if it did not.
func (s *supervisor) run(ctx context.Context) (stopped string, err error) {
	defer s.alarm.Stop()
	defer s.stopWatching()
	s.watchXids()
	for !s.over() {
		i := s.next()
		switch {
		case !s.over() && (i == len(s.plan) || s.plan[i].Check.Last) && s.repeat():
			clear(s.fruitless)
			continue
		case i == len(s.plan):
		case s.plan[i].Check.Isolated:
			s.isolated(ctx, i)
			continue
		default:
			if s.plan[i].Check.Last {
				s.lull(ctx)
			}
			s.shared(ctx, i)
			continue
		}
		break
	}
	if s.stop == "" && s.full() {
		s.stop = reasonMaxFail
	}
	return s.stop, s.failure
}

// Why a run stops before its end, as the finish event says it.
const (
	reasonDone        = "done"
	reasonInterrupted = "interrupted"
	reasonMaxFail     = "max-fail"
	reasonStuck       = "stuck" // a killed child does not die
)

func (s *supervisor) over() bool {
	return s.stop != "" || s.full() || s.err != nil || s.failure != nil
}

// shared runs the specs from place i on in one child, up to the next isolated
// one, or up to those of the whole run, which need a child that is told of it.
func (s *supervisor) shared(ctx context.Context, i int) {
	var places []int
	for j := i; j < len(s.plan); j++ {
		if s.verdicts[j] != "" {
			continue
		}
		if _, decided := s.idle(j); decided {
			continue
		}
		if s.plan[j].Check.Isolated || s.plan[j].Check.Last != s.plan[i].Check.Last {
			break
		}
		places = append(places, j)
	}
	w := s.start(places, nil)
	for w != nil && s.live[w.child] != nil {
		s.wait(ctx)
	}
}

// start starts a child for specs. Slots are what an isolated spec's child may
// see.
func (s *supervisor) start(places []int, slots []int) *watch {
	specs := make([]fixtures.Spec, len(places))
	for k, i := range places {
		specs[k] = s.plan[i]
	}
	t := s.task
	t.Kind, t.Plan, t.Earlier, t.Visible, t.GivenUp = taskSpecs, batches(specs), s.earlier(specs), slots, s.trouble.unusable()
	if len(specs) > 0 && specs[0].Check.Last {
		t.Xids, t.XidSources = s.xids, &s.sources
	}
	var env []string
	inventory := s.inventory
	if slots != nil {
		t.Kind = taskIsolated
		var err error
		if inventory, err = json.Marshal(visibleNode(s.node, slots)); err != nil {
			s.failure = fmt.Errorf("encode inventory: %w", err)
			return nil
		}
		env = append(env, "CUDA_VISIBLE_DEVICES="+visibleDevices(s.node, slots))
	}
	t.remember(s.startedSpecs)
	c, err := startChild(s.command, t, inventory, env, s.reports)
	if err != nil {
		s.failure = err
		return nil
	}
	w := &watch{child: c, specs: places, alone: slots != nil, running: -1}
	s.live[c] = w
	s.limit(w, s.waits.quiet)
	s.write(journal.Event{Type: journal.TypeChild, Child: &journal.Child{PID: c.pid(), Task: t.Kind, Specs: len(places)}})
	return w
}

// limit sets how long the child may take until its next sign of life.
func (s *supervisor) limit(w *watch, d time.Duration) {
	w.deadline = time.Now().Add(d)
	if s.alarmAt.IsZero() || w.deadline.Before(s.alarmAt) {
		s.alarmAt = w.deadline
		s.alarm.Reset(d)
	}
}

// wait handles the next thing that happens.
func (s *supervisor) wait(ctx context.Context) {
	interrupted := ctx.Done()
	if s.stop != "" {
		interrupted = nil
	}
	select {
	case r := <-s.reports:
		s.take(r)
	case x := <-s.log.seen():
		s.sighted(x)
	case <-s.alarm.C:
		s.catchUp()
		s.expire()
	case <-interrupted:
		s.stop = reasonInterrupted
	}
	if s.over() {
		for _, w := range s.live {
			s.kill(w)
		}
	}
}

// take handles what a child reports.
func (s *supervisor) take(r report) {
	w := s.live[r.from]
	switch {
	case r.from == s.monitor:
		s.monitored(r)
	case w == nil: // given up
	case r.end != nil:
		s.gone(w, r.end)
	case !w.killed && w.late == 0: // else what it says does not count
		s.heard(w, r.message)
	}
}

// catchUp handles what children have said already: where this process was held
// up (a stopped terminal), they must not pay for it. One that never stops
// talking gets no more time by it.
func (s *supervisor) catchUp() {
	for began := time.Now(); time.Since(began) < time.Second; {
		select {
		case r := <-s.reports:
			s.take(r)
		case <-time.After(5 * time.Millisecond):
			return
		}
	}
}

// kill ends a child, which then has a while to be gone.
func (s *supervisor) kill(w *watch) {
	if w.killed {
		return
	}
	w.killed = true
	w.child.kill()
	s.limit(w, s.waits.reap)
}

// expire ends the children whose deadline is over: they may first write down
// where they hang, which is then in the journal with the rest of their output.
func (s *supervisor) expire() {
	now := time.Now()
	s.alarmAt = time.Time{}
	for c, w := range s.live {
		switch {
		case now.Before(w.deadline):
		case w.late == 0 && !w.killed:
			w.late = s.allowed(w)
			w.deadline = now.Add(dumpFor)
			c.dump()
		case !w.killed:
			s.kill(w)
		default:
			delete(s.live, c)
			c.abandon()
			if s.stop == "" {
				s.stop = reasonStuck
			}
			s.note("child %d does not die: it is stuck in the kernel, and the rest of the run with it", c.pid())
			s.conclude(w, &childEnd{status: "did not die"})
		}
	}
	for _, w := range s.live {
		s.limit(w, time.Until(w.deadline))
	}
}

// allowed is how long what the child does now may take.
func (s *supervisor) allowed(w *watch) time.Duration {
	switch {
	case w.running < 0:
		return s.waits.quiet
	case s.timeout > 0:
		return s.timeout
	}
	return s.own(s.plan[w.running].Check)
}

// own is how long a spec of a check may take where --timeout says nothing.
func (s *supervisor) own(c *fixtures.Check) time.Duration {
	return cmp.Or(c.Limit(s.expected), s.waits.spec)
}

// heard takes a message of a child.
func (s *supervisor) heard(w *watch, m *message) {
	if m.Spec < 0 || m.Spec >= len(w.specs) || m.Count < 0 || m.Spec+m.Count > len(w.specs) {
		s.note("child %d spoke of a spec that it was not given", w.child.pid())
		s.kill(w)
		return
	}
	i := w.specs[m.Spec]
	switch m.Kind {
	case msgTree:
		w.tree = w.specs[m.Spec : m.Spec+m.Count]
		s.write(journal.Event{Type: journal.TypeTree, Spec: s.plan[i].Check.ID})
	case msgStart:
		if !w.alone {
			s.before(i)
		}
		w.running, w.began, w.step, w.tree = i, time.Now(), "", nil
		s.ledger.start(i)
	case msgStep:
		w.step = m.Text
		s.step(i, m.Text)
		return // a step does not buy time
	case msgMeasure:
		if m.Measurement != nil {
			s.measure(i, *m.Measurement)
		}
		return
	case msgEnd:
		if m.Outcome != nil {
			s.conclusion(w, i, *m.Outcome, time.Duration(m.Seconds*float64(time.Second)))
		}
		s.lately(i)
		w.running, w.tree = -1, nil
	case msgXid:
		if m.Xid != nil {
			s.sighted(*m.Xid)
		}
		return
	case msgReplace:
		w.replaced = true
		if w.verdicts < len(w.specs) { // else it has nothing left to be replaced for
			s.write(journal.Event{Type: journal.TypeReplace, Text: m.Text})
		}
		s.kill(w)
		return
	case msgDone:
		w.done = true
	case msgQuestion, msgNode, msgSource, msgReady: // of discovery and the monitor; nobody asked for them
	case msgFailed:
		s.failure = fmt.Errorf("child %d: %s", w.child.pid(), m.Text)
	}
	s.limit(w, s.allowed(w))
}

// conclusion gives a spec of a child its verdict.
func (s *supervisor) conclusion(w *watch, i int, o verdict.Outcome, took time.Duration) {
	w.verdicts++
	s.end(i, o, took)
}

// gone takes note of a child that has ended.
func (s *supervisor) gone(w *watch, end *childEnd) {
	delete(s.live, w.child)
	event := &journal.Child{PID: w.child.pid(), Status: end.status, Signal: end.signal}
	if !end.zero && !w.killed || end.broken != "" || w.late > 0 {
		event.Stdout, event.Stderr = w.child.stdout.String(), w.child.stderr.String()
	}
	s.write(journal.Event{Type: journal.TypeChildEnd, Child: event})
	if end.broken != "" {
		s.note("child %d %s", w.child.pid(), end.broken)
	}
	s.conclude(w, end)
}
