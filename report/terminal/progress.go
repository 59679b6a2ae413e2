package terminal

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/runner/journal"
)

// How often something is shown.
const (
	redraw    = 100 * time.Millisecond // of the status line
	heartbeat = 10 * time.Second       // without a terminal, where nothing else was printed
	slowSpec  = 2 * time.Second        // a spec that runs longer has its time shown
)

// Of failures alike (one check, one code) so many are shown at once; the
// summary tells of all. Of those that follow from another failure the first of
// each cause is shown, up to a number of causes.
const (
	maxAlike = 10
	maxKinds = 100
)

// Progress shows a run while it goes on. Its methods may be called from
// several goroutines.
type Progress struct {
	out   io.Writer
	o     Options
	now   func() time.Time
	stop  chan struct{}
	ended chan struct{}
	once  sync.Once

	mu      sync.Mutex // guards the fields below, and out
	silent  bool       // what is told happened before
	started time.Time
	total   int
	counts  report.Counts
	doing   string // where no spec runs
	checks  map[string]*checkProgress
	running map[string]*specProgress
	newest  string // spec that began last
	// What this process has seen run, which is not all of a resumed run.
	ran        int               // specs that ran to their end
	ranSeconds float64           // theirs together
	firstBegan time.Time         // the first spec that ran
	alike      map[[2]string]int // failures so far, by check or cause, and code
	status     string            // what stands on the status line
	printed    time.Time         // when something was last printed
}

type checkProgress struct {
	total   int
	counts  report.Counts
	seconds float64
}

type specProgress struct {
	began    time.Time
	step     string
	measured []verdict.Measurement
}

// NewProgress begins to show a run on out. Close it before the summary.
func NewProgress(out io.Writer, o Options) *Progress {
	p := newProgress(out, o, time.Now)
	go p.tick()
	return p
}

func newProgress(out io.Writer, o Options, now func() time.Time) *Progress {
	return &Progress{
		out: out, o: o, now: now, started: now(), printed: now(), doing: "starting",
		stop: make(chan struct{}), ended: make(chan struct{}),
		checks: map[string]*checkProgress{}, running: map[string]*specProgress{}, alike: map[[2]string]int{},
	}
}

func (p *Progress) tick() {
	defer close(p.ended)
	t := time.NewTicker(redraw)
	defer t.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-t.C:
			p.mu.Lock()
			p.refresh()
			p.mu.Unlock()
		}
	}
}

// Close ends the display and clears the status line.
func (p *Progress) Close() {
	p.once.Do(func() {
		close(p.stop)
		<-p.ended
		p.mu.Lock()
		defer p.mu.Unlock()
		p.clear()
	})
}

// Replay takes note of an event from before the run was resumed. A spec that
// was not run then will be now.
func (p *Progress) Replay(e journal.Event) {
	if e.Type == journal.TypeEnd && e.Outcome != nil && e.Outcome.Code == verdict.NotRun {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = true
	p.event(e)
	p.silent = false
}

// Event takes note of one event of the journal and shows what is worth it.
func (p *Progress) Event(e journal.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.event(e)
}

func (p *Progress) event(e journal.Event) {
	switch e.Type {
	case journal.TypeRun:
		p.begin(e.Run)
	case journal.TypeQuestion:
		if e.Question != nil {
			p.doing = "discovering: " + e.Question.Key
		}
	case journal.TypeNode:
		p.node(e.Node)
	case journal.TypeCheck:
		if e.Check != nil && p.checks[e.Check.ID] == nil {
			p.checks[e.Check.ID] = &checkProgress{total: len(e.Check.Subjects)}
			p.total += len(e.Check.Subjects)
			p.doing = "planning"
		}
	case journal.TypeChild:
		p.doing = "starting a child process"
	case journal.TypeTree:
		p.doing = "building " + e.Spec
	case journal.TypeStart:
		p.running[e.Spec] = &specProgress{began: p.now()}
		if p.firstBegan.IsZero() && !p.silent {
			p.firstBegan = p.now()
		}
		p.newest = e.Spec
	case journal.TypeStep:
		if s := p.running[e.Spec]; s != nil {
			s.step = e.Text
		}
	case journal.TypeMeasure:
		if s := p.running[e.Spec]; s != nil && e.Measurement != nil {
			s.measured = append(s.measured, *e.Measurement)
		}
	case journal.TypeEnd:
		if e.Outcome != nil {
			p.end(e)
		}
	case journal.TypeNote:
		p.say(wrap("note: ", 6, p.o.width(), e.Text))
	case journal.TypeResume:
		clear(p.running) // what ran when it was interrupted
		p.say(fmt.Sprintf("resumed: %d of %d specs have a verdict\n", p.counts.Total(), p.total))
	case journal.TypeFinish:
		p.doing = "finishing"
	default:
	}
}

func (p *Progress) begin(r *journal.Run) {
	if r == nil || p.o.Level == Quiet {
		return
	}
	run := report.Run{Simulated: r.Simulated, Loopback: r.Loopback}
	title := r.Host + ", " + r.Tool
	if r.Node != "" {
		title = "node " + r.Node + ", " + r.Tool
	}
	if marks := run.Marks(); marks != "" {
		title = marks + ": " + title
	}
	p.print(p.o.banner(title))
}

func (p *Progress) node(n *topology.Node) {
	if n == nil {
		return
	}
	models, order := map[string]int{}, []string{}
	for i := range n.GPUs {
		model := n.GPUs[i].Model
		if model == "" {
			model = "GPU of unknown model"
		}
		if models[model]++; models[model] == 1 {
			order = append(order, model)
		}
	}
	var parts []string
	for _, model := range order {
		parts = append(parts, itoa(models[model])+" x "+model)
	}
	if len(parts) == 0 {
		parts = []string{"no GPU"}
	}
	if n.Driver.NVML != "" {
		parts = append(parts, "driver "+n.Driver.NVML)
	}
	p.say(wrap("", 2, p.o.width(), strings.Join(parts, ", ")))
}

// end takes note of a verdict and shows it where it matters.
func (p *Progress) end(e journal.Event) {
	s := report.Spec{
		ID: e.Spec, Verdict: e.Outcome.Verdict, Code: e.Outcome.Code, Message: e.Outcome.Message, Duration: e.Seconds,
	}
	if r := p.running[e.Spec]; r != nil {
		s.Measurements = r.measured
		delete(p.running, e.Spec)
		if !p.silent {
			p.ran++
			p.ranSeconds += s.Duration
		}
	}
	p.doing = "between specs"
	if e.Attempt > 1 {
		p.endAgain(&s, e.Attempt)
		return
	}
	p.counts.Add(s.Verdict)
	check := p.checks[s.Check()]
	if check != nil {
		check.counts.Add(s.Verdict)
		check.seconds += s.Duration
	}
	switch {
	case p.o.Level == Verbose:
		p.say(p.o.specLine(&s))
	case s.Verdict == verdict.Fail || s.Verdict == verdict.Error:
		p.failure(&s)
	}
	if check != nil && check.counts.Total() == check.total && p.o.Level == Normal && !p.o.TTY {
		p.say(fit(fmt.Sprintf("%*d/%d  %-28s %s, %.1f s", len(itoa(p.total)), p.counts.Total(), p.total,
			report.Line(s.Check()), countsText(check.counts), check.seconds), p.o.width()) + "\n")
	}
}

// endAgain shows how another run of a spec ended. It is counted by its first
// run.
func (p *Progress) endAgain(s *report.Spec, run int) {
	if s.Code == verdict.NotRun {
		return
	}
	s.ID += fmt.Sprintf(" run %d", run)
	switch {
	case p.o.Level == Verbose:
		p.say(p.o.specLine(s))
	case s.Verdict == verdict.Fail || s.Verdict == verdict.Error:
		p.failure(s)
	}
}

// failure shows a failure at once, unless there were many like it.
func (p *Progress) failure(s *report.Spec) {
	if report.Follows(s.Code) { // the first of each cause is enough
		cause := [2]string{s.Message, s.Code}
		if p.alike[cause]++; p.alike[cause] == 1 && len(p.alike) <= maxKinds {
			p.say(p.o.specLine(s))
		}
		return
	}
	kind := [2]string{s.Check(), s.Code}
	p.alike[kind]++
	switch n := p.alike[kind]; {
	case n <= maxAlike:
		p.say(p.o.specLine(s))
	case n == maxAlike+1:
		p.say(wrap("       ", 7, p.o.width(), "further "+s.Check()+" with "+s.Code+" are only counted here, the summary has them"))
	}
}

// say prints whole lines above the status line, unless the level is Quiet.
func (p *Progress) say(lines string) {
	if p.o.Level > Quiet {
		p.print(lines)
	}
}

// print writes whole lines above the status line. Trouble with the output is
// no trouble of the run.
func (p *Progress) print(lines string) {
	if p.silent {
		return
	}
	p.clear()
	io.WriteString(p.out, lines) //nolint:errcheck // see above
	p.printed = p.now()
}

func (p *Progress) clear() {
	if p.status != "" {
		io.WriteString(p.out, "\r\x1b[K") //nolint:errcheck // as in print
		p.status = ""
	}
}

// refresh draws the status line where it changed; without a terminal it prints
// a line now and then, so that a log shows life.
func (p *Progress) refresh() {
	switch {
	case p.o.Level == Quiet:
	case p.o.TTY:
		line := fit(p.line(), p.o.width()-1)
		if line != p.status {
			p.clear()
			io.WriteString(p.out, line) //nolint:errcheck // as in print
			p.status = line
		}
	case p.now().Sub(p.printed) >= heartbeat:
		p.print(fit(p.line(), p.o.width()) + "\n")
	}
}

func itoa(n int) string { return strconv.Itoa(n) }
