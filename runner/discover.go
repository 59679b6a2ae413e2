package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/runner/journal"
)

// errInterrupted is the end of the context, as seen from inside.
var errInterrupted = errors.New("interrupted")

// maxDiscoveries bounds the children that discovery may take. Each leaves out
// one more question than the last, so that it is met only where a driver
// hangs in every other call.
const maxDiscoveries = 256

// discover finds out what the node is made of. It is asked in a child, with a
// deadline for each question; a question that does not return is not asked
// again by the next child.
func (l *ledger) discover(ctx context.Context, command []string, t task, timeout time.Duration) (*topology.Node, error) {
	t.Kind, t.Skip = taskDiscover, map[string]string{}
	if timeout <= 0 {
		timeout = l.waits.spec
	}
	for range maxDiscoveries {
		node, open, why, err := l.ask(ctx, command, t, timeout)
		if node != nil || err != nil {
			return node, err
		}
		if _, again := t.Skip[open]; again || open == "" {
			return nil, fmt.Errorf("discovery: the child is gone: %s", why)
		}
		t.Skip[open] = why
		l.note("%s: %s; it is not asked again", open, why)
	}
	return nil, fmt.Errorf("discovery: given up after %d children", maxDiscoveries)
}

// ask is one child of discovery. Without a node and an error, open is the
// question that it did not survive, and why says how that ended.
func (l *ledger) ask(ctx context.Context, command []string, t task, timeout time.Duration) (node *topology.Node, open, why string, err error) {
	reports := make(chan report)
	c, err := startChild(command, t, nil, nil, reports)
	if err != nil {
		return nil, "", "", err
	}
	l.write(journal.Event{Type: journal.TypeChild, Child: &journal.Child{PID: c.pid(), Task: t.Kind}})
	deadline := time.NewTimer(l.waits.quiet)
	defer deadline.Stop()
	interrupted := ctx.Done()
	for killed := false; ; {
		select {
		case r := <-reports:
			switch m := r.message; {
			case r.end != nil:
				event := &journal.Child{PID: c.pid(), Status: r.end.status, Signal: r.end.signal}
				if node == nil {
					event.Stdout, event.Stderr = c.stdout.String(), c.stderr.String()
				}
				l.write(journal.Event{Type: journal.TypeChildEnd, Child: event})
				if why == "" {
					why = lastWords{end: r.end}.how()
				}
				return node, open, why, err
			case killed:
			case m.Kind == msgQuestion:
				l.write(journal.Event{Type: journal.TypeQuestion, Question: &journal.Question{Key: m.Text, Done: m.Call != nil, Call: m.Call}})
				open = m.Text
				deadline.Reset(timeout)
				if m.Call != nil {
					open = ""
					deadline.Reset(l.waits.quiet)
				}
			case m.Kind == msgNode:
				node, open = m.Node, ""
				deadline.Reset(l.waits.quiet)
			case m.Kind == msgFailed:
				err = errors.New(m.Text)
			}
		case <-deadline.C:
			if killed {
				c.abandon()
				return node, open, why + ", and the child does not die", err
			}
			killed, why = true, fmt.Sprintf("no answer within %s", timeout)
			c.kill()
			deadline.Reset(l.waits.reap)
		case <-interrupted:
			killed, err, interrupted = true, errInterrupted, nil
			c.kill()
			deadline.Reset(l.waits.reap)
		}
	}
}
