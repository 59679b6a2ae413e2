package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/runner/journal"
)

// aftermath is how long after the end of a spec an Xid may still be of its
// doing: the driver's report goes through an interrupt and two processes.
const aftermath = 500 * time.Millisecond

// readyWithin is how long what the monitor sees is waited for. NVML takes a
// second to start where nobody keeps the driver loaded.
const readyWithin = 10 * time.Second

// witness is what the supervisor knows of what others see of the GPUs.
type witness struct {
	log     *logWatch // nil: the kernel log cannot be read
	monitor *child    // nil: there is none, or no more
	ready   bool      // the monitor watches, or never will
	private bool      // each child tells of its own Xids before its spec ends
	sources topology.XidSources
	ended   []recent
}

// recent is a spec that ended a moment ago.
type recent struct {
	place int
	at    time.Time
}

// watch begins to watch for Xids, where a check of the plan judges them. The
// kernel log is followed already.
func (s *supervisor) watchXids() {
	if !s.judgesXids() || !s.node.Driver.NVMLInit.OK() {
		s.ready = true
		return
	}
	t := s.task
	t.Kind = taskMonitor
	s.sources.Events = map[string]string{}
	c, err := startChild(s.command, t, s.inventory, nil, s.reports)
	if err != nil {
		s.ready, s.sources.Gone = true, err.Error()
		return
	}
	s.monitor = c
	s.write(journal.Event{Type: journal.TypeChild, Child: &journal.Child{PID: c.pid(), Task: taskMonitor}})
}

func (s *supervisor) judgesXids() bool {
	for i, spec := range s.plan {
		if spec.Check.Xids && s.verdicts[i] == "" && spec.Settled == nil {
			return true
		}
	}
	return false
}

// monitored takes what the monitor says, or that it has ended.
func (s *supervisor) monitored(r report) {
	switch {
	case r.end != nil:
		event := &journal.Child{PID: r.from.pid(), Status: r.end.status, Signal: r.end.signal}
		if s.sources.Gone == "" {
			s.sources.Gone = "the process that watched them is gone: " + lastWords{end: r.end}.how()
		}
		event.Stdout, event.Stderr = r.from.stdout.String(), r.from.stderr.String()
		s.write(journal.Event{Type: journal.TypeChildEnd, Child: event})
		s.monitor, s.ready = nil, true
		s.note("Xids are no longer seen in NVML's events: %s", s.sources.Gone)
	case r.message.Kind == msgSource && r.message.Call != nil:
		reason := ""
		if !r.message.Call.OK() {
			reason = r.message.Call.String()
		}
		s.sources.Events[r.message.Text] = reason
	case r.message.Kind == msgReady:
		s.ready, s.private = true, r.message.Private
	case r.message.Kind == msgXid && r.message.Xid != nil:
		s.sighted(*r.message.Xid)
	case r.message.Kind == msgFailed:
		s.sources.Gone = r.message.Text
	}
}

// stopWatching ends the monitor, which has nothing to give back that the
// kernel does not take.
func (s *supervisor) stopWatching() {
	c := s.monitor
	if c == nil {
		return
	}
	c.kill()
	for late := time.After(s.waits.reap); ; {
		select {
		case r := <-s.reports:
			if r.from != c || r.end == nil {
				continue
			}
			s.write(journal.Event{Type: journal.TypeChildEnd, Child: &journal.Child{PID: c.pid(), Status: r.end.status, Signal: r.end.signal}})
		case <-late:
			c.abandon()
		}
		s.monitor = nil
		return
	}
}

// lull lets what the last specs caused arrive, and the monitor begin, before
// what was seen is judged.
func (s *supervisor) lull(ctx context.Context) {
	if s.monitor == nil && s.log == nil {
		return
	}
	quiet, late := time.Now().Add(aftermath), time.Now().Add(min(s.waits.quiet, readyWithin))
	for !s.over() && (!s.private && time.Now().Before(quiet) || !s.ready && time.Now().Before(late)) {
		select {
		case r := <-s.reports:
			s.take(r)
		case x := <-s.log.seen():
			s.sighted(x)
		case <-time.After(aftermath / 10):
		case <-ctx.Done():
			s.stop = reasonInterrupted
		}
	}
}

// sighted takes note of an Xid, with the specs that it came in.
func (s *supervisor) sighted(x topology.Xid) {
	var places []int
	for _, w := range s.live {
		if w.running >= 0 {
			places = append(places, w.running)
		}
	}
	if len(places) == 0 {
		for _, r := range s.ended {
			if time.Since(r.at) <= aftermath {
				places = append(places, r.place)
			}
		}
	}
	// Specs run beside each other on other GPUs: those that use this one count,
	// if any does.
	if ours := slices.DeleteFunc(slices.Clone(places), func(i int) bool { return !s.uses(i, x) }); len(ours) > 0 {
		places = ours
	}
	slices.Sort(places)
	x.Provoked = len(places) > 0
	for _, i := range places {
		x.Specs = append(x.Specs, s.plan[i].ID())
		x.Provoked = x.Provoked && s.plan[i].Check.Isolated
	}
	s.xids = append(s.xids, x)
	s.write(journal.Event{Type: journal.TypeXid, Xid: &x})
}

// uses says that a spec uses the GPU of an Xid.
func (s *supervisor) uses(place int, x topology.Xid) bool {
	return slices.ContainsFunc(s.slots(place), func(slot int) bool {
		g := s.node.BySlot(slot)
		return g != nil && x.Of(g.BusID)
	})
}

// lately remembers that a spec ended, for Xids that come after it.
func (s *supervisor) lately(place int) {
	now := time.Now()
	s.ended = append(slices.DeleteFunc(s.ended, func(r recent) bool { return now.Sub(r.at) > aftermath }), recent{place, now})
}

// during says which Xids came while a spec ran; "" if none.
func (l *ledger) during(i int) string {
	id := l.plan[i].ID()
	var codes []string
	for _, x := range l.xids {
		if code := fmt.Sprintf("Xid %d of %s", x.Code, x.BusID); slices.Contains(x.Specs, id) && !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	return strings.Join(codes, ", ")
}
