package runner

import (
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/extensions/globals"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/verdict"
)

// treeSize is how many specs one Ginkgo tree holds at most. Ginkgo's time and
// memory grow faster than the tree: 70,000 empty specs took 11.9 s and 49 MB
// in trees of 1000, 16.1 s and 104 MB in trees of 5000.
const treeSize = 1000

// grove builds and runs one Ginkgo tree after the other.
type grove struct {
	*worker
	session *fixtures.Session

	base    int             // place of the first spec of the tree in the task's plan
	specs   []fixtures.Spec // of the tree
	next    int             // which of them begins next
	current int             // place in the task's plan of the one that runs
	running bool
	leaks   leakWatch
	self    *selfWatch // nil where others can watch
	leak    string     // what outlived the spec that ended last
}

// failed is what RunSpecs calls when a spec failed, which its report said.
type failed struct{}

func (failed) Fail() {}

// grow builds the tree of specs of one check, and runs it.
func (g *grove) grow(base int, specs []fixtures.Spec) {
	check := specs[0].Check
	g.base, g.specs, g.next, g.leaks = base, specs, 0, leakWatch{}
	g.say(message{Kind: msgTree, Spec: base, Count: len(specs)})
	g.flush()

	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.RandomSeed = 1
	suite.Timeout = 0 // the parent's deadlines reach into C, Ginkgo's do not
	suite.OutputInterceptorMode = "none"
	reporter.NoColor, reporter.Succinct = true, false
	reporter.Verbose = true // for By to be heard at once
	formatter.ColorableStdOut = &steps{g}

	globals.Reset()
	var broken any
	ginkgo.ReportBeforeEach(g.begin)
	ginkgo.ReportAfterEach(g.linger)
	ginkgo.ReportAfterEach(g.end)
	ginkgo.Describe(check.ID, ginkgo.Ordered, ginkgo.ContinueOnFailure, ginkgo.AroundNode(g.around), func() {
		defer func() { broken = recover() }()
		check.Nodes()
		for _, s := range specs {
			ginkgo.It(s.ID(), check.Body(g.session, s.Subject))
		}
	})
	ginkgo.RunSpecs(failed{}, check.ID, suite, reporter)
	if broken == nil {
		return
	}
	for i := range specs {
		o := verdict.Errorf(verdict.TreePanic, "building the tree of the check at %s panicked: %s", check.Where, panicText(broken))
		g.say(message{Kind: msgEnd, Spec: base + i, Outcome: &o})
	}
}

// panicText is what a panic says, without Ginkgo's advice.
func panicText(broken any) string {
	if g, ok := broken.(types.GinkgoError); ok {
		return fmt.Sprintf("%s at %s", g.Heading, g.CodeLocation)
	}
	return shorten(fmt.Sprint(broken), 1000)
}

// specLabel is the label by which a goroutine that belongs to a spec is known.
const specLabel = "peerproof-spec"

// around keeps each node on one OS thread, as CUDA's current context asks for,
// and labels its goroutine and those that it starts.
func (g *grove) around(ctx context.Context, body func(context.Context)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pprof.Do(ctx, pprof.Labels(specLabel, fmt.Sprint(g.current)), body)
}

// begin is called before each spec. A node that is none of the plan's, which a
// check added to its tree, is nobody's.
func (g *grove) begin(r types.SpecReport) {
	g.running = g.next < len(g.specs) && r.LeafNodeText == g.specs[g.next].ID()
	if !g.running {
		return
	}
	spec := g.specs[g.next]
	g.current = g.base + g.next
	g.next++
	g.leak = ""
	g.leaks.count()
	g.say(message{Kind: msgStart, Spec: g.current})
	g.flush()
	g.session.Begin(spec)
}

// linger is called after each spec, and looks for what is left of it.
func (g *grove) linger(types.SpecReport) { g.leak = g.leaks.leaked() }

// end is called after linger, so that what failed meanwhile is in the report.
// Nothing of this spec has been told yet: if the process dies before the next
// begins, it is this one that it died of.
func (g *grove) end(r types.SpecReport) {
	if r.State.Is(types.SpecStateInterrupted) {
		g.block() // a signal: see dieOfSignals
	}
	if !g.running {
		return
	}
	g.running = false
	o := g.session.Outcome(r)
	replace := ""
	switch {
	case g.leak != "":
		replace = verdict.Leaked
		o = leakOutcome(o, g.leak+" still runs after the spec has ended")
	case r.Failure.FailureNodeType.Is(types.NodeTypeReportAfterEach):
		o = verdict.Errorf(verdict.Leaked, "a goroutine failed after the spec had ended: %s %s", r.Failure.Message, r.Failure.ForwardedPanic)
	case r.State.Is(types.SpecStateAborted):
		replace = "the suite was aborted"
	}
	if why := g.session.End(g.specs[g.next-1], o); replace == "" {
		replace = why
	}
	g.self.catchUp()
	g.say(message{Kind: msgEnd, Spec: g.current, Outcome: &o, Seconds: r.RunTime.Seconds()})
	if replace != "" {
		g.say(message{Kind: msgReplace, Text: replace})
		g.block()
	}
}

// leakOutcome is the outcome of a spec of which something is left.
func leakOutcome(o verdict.Outcome, what string) verdict.Outcome {
	leak := verdict.Errorf(verdict.Leaked, "%s", what)
	if o.Verdict != verdict.Pass {
		leak.Message += fmt.Sprintf("; before that it ended as %s %s: %s", o.Verdict, o.Code, o.Message)
	}
	return leak
}
