package runner

import (
	"fmt"
	"strings"
	"time"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
)

// conclude decides what the end of a child means for the specs that it left
// without a verdict. Missing end events decide, never an exit status.
func (s *supervisor) conclude(w *watch, end *childEnd) {
	if s.stop == reasonInterrupted || s.stop == "" && s.over() {
		return // they end as not-run
	}
	last := lastWords{end: end, stderr: w.child.stderr.String(), late: w.late, step: w.step}
	switch {
	case w.running >= 0:
		subject := s.plan[w.running].Subject
		xids := s.during(w.running)
		if xids == "" { // else there is more to look at than the limit
			last.own = s.own(s.plan[w.running].Check)
		}
		o := last.outcome(s.plan[w.running])
		if xids != "" {
			o.Message += "; meanwhile the driver reported " + xids
		}
		s.conclusion(w, w.running, o, time.Since(w.began))
		s.lately(w.running)
		notes := s.trouble.crashed
		if w.late > 0 {
			notes = s.trouble.hung
		}
		for _, n := range notes(subject) {
			s.note("%s", n)
		}
	case w.tree != nil && !w.replaced:
		for _, i := range w.tree {
			s.conclusion(w, i, last.tree(), 0)
		}
	case w.late > 0 && w.done:
		s.note("child %d did not give the node back within %s", w.child.pid(), w.late)
	}
	first := w.specs[0]
	if w.verdicts > 0 || w.replaced || s.verdicts[first] != "" {
		return
	}
	if s.fruitless[first]++; s.fruitless[first] == fruitlessLimit {
		s.conclusion(w, first, verdict.Errorf(verdict.Crash, "%d children ended before it began: %s", fruitlessLimit, last.how()), 0)
	}
}

// lastWords is what is known of a child that ended before its work did.
type lastWords struct {
	end    *childEnd
	stderr string
	late   time.Duration // it was killed for exceeding this; 0: it ended by itself
	own    time.Duration // what the spec may take without --timeout
	step   string        // the last progress line
}

// how says in a few words how the child ended.
func (l lastWords) how() string {
	switch {
	case l.late > 0:
		return fmt.Sprintf("it did not go on within %s", l.late)
	case l.end.broken != "":
		return "it " + l.end.broken
	case l.end.signal != "":
		return "it was ended by " + l.end.signal
	case l.end.zero:
		return "it exited with status 0 before the spec had ended"
	default:
		return "it ended with " + l.end.status
	}
}

// outcome is the verdict of the spec that ran in the child.
func (l lastWords) outcome(s fixtures.Spec) verdict.Outcome {
	on := subjectWords(s.Subject)
	at := "no step was begun"
	if l.step != "" {
		at = "the last step was: " + l.step
	}
	if l.late > 0 {
		message := fmt.Sprintf("did not end within %s on %s; %s", l.late, on, at)
		o := verdict.Errorf(verdict.Hang, "%s", message)
		o.Hint = "a driver call or a kernel did not return: see the kernel log for Xid lines of " + on
		if s.Check.HangCode != "" {
			o = verdict.Failf(s.Check.HangCode, "%s", message)
		}
		if l.late < l.own {
			o.Hint = fmt.Sprintf("--timeout set this limit, and without it the check has %s: run it again without before you look for a fault", l.own)
		}
		return o
	}
	message := fmt.Sprintf("the process that ran it on %s is gone: %s; %s", on, l.how(), at)
	if line := crashLine(l.stderr); line != "" {
		message += "; it wrote: " + line
	}
	return verdict.Errorf(verdict.Crash, "%s", message)
}

// tree is the verdict of each spec of a tree that was not built.
func (l lastWords) tree() verdict.Outcome {
	message := "the check's tree could not be built: " + l.how()
	if text := strings.TrimSpace(l.stderr); text != "" {
		message += "; it wrote: " + shorten(text, 1000)
	}
	return verdict.Errorf(verdict.TreePanic, "%s", message)
}

// shorten cuts a text to so many bytes.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + " […]"
}

// subjectWords names a subject in a sentence.
func subjectWords(s fixtures.Subject) string {
	if s.Kind == fixtures.WholeNode {
		return "the node"
	}
	return s.String()
}

// visibleDevices is the value of CUDA_VISIBLE_DEVICES that shows these slots
// alone, in the order in which CUDA numbers them anyway.
func visibleDevices(n *topology.Node, slots []int) string {
	return strings.Join(uuids(n, slots), ",")
}
