package runner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/runner/journal"
)

// decodeNode reads the inventory of a node message.
func decodeNode(text string) (*topology.Node, error) {
	var m message
	err := json.Unmarshal([]byte(text), &m)
	return m.Node, err
}

func ordered(from, to int) fixtures.Subject {
	return fixtures.Subject{Kind: fixtures.OrderedPair, From: from, To: to}
}

func unordered(from, to int) fixtures.Subject {
	return fixtures.Subject{Kind: fixtures.UnorderedPair, From: from, To: to}
}

func gpu(slot int) fixtures.Subject {
	return fixtures.Subject{Kind: fixtures.EachGPU, From: slot, To: -1}
}

var wholeNode = fixtures.Subject{Kind: fixtures.WholeNode, From: -1, To: -1}

func TestWhoIsGivenUp(t *testing.T) {
	t.Parallel()
	needy := &fixtures.Check{ID: "a/b", Needs: fixtures.NVML | fixtures.CUDA}
	frugal := &fixtures.Check{ID: "a/c"}
	context := &fixtures.Check{ID: "inventory/context", Needs: fixtures.CUDA, Proves: fixtures.CUDA}
	for name, c := range map[string]struct {
		happens func(*trouble)
		ask     fixtures.Subject
		check   *fixtures.Check
		code    string
	}{
		"two hangs of a pair":              {func(t *trouble) { t.hung(ordered(0, 1)); t.hung(ordered(0, 1)) }, ordered(0, 1), needy, ""},
		"three hangs of a pair":            {func(t *trouble) { t.hung(ordered(0, 1)); t.hung(ordered(0, 1)); t.hung(ordered(0, 1)) }, ordered(0, 1), needy, verdict.NotRun},
		"three of a pair, its reverse":     {func(t *trouble) { t.hung(ordered(0, 1)); t.hung(ordered(0, 1)); t.hung(ordered(0, 1)) }, ordered(1, 0), needy, ""},
		"three of a pair, unordered":       {func(t *trouble) { t.hung(ordered(0, 1)); t.hung(ordered(0, 1)); t.hung(ordered(0, 1)) }, unordered(0, 1), needy, ""},
		"three of a pair, its GPU":         {func(t *trouble) { t.hung(ordered(0, 1)); t.hung(ordered(0, 1)); t.hung(ordered(0, 1)) }, gpu(0), needy, ""},
		"hangs and crashes count together": {func(t *trouble) { t.hung(gpu(0)); t.crashed(gpu(0)); t.crashed(gpu(0)) }, gpu(0), needy, verdict.NotRun},
		"three of the node":                {func(t *trouble) { t.hung(wholeNode); t.hung(wholeNode); t.hung(wholeNode) }, wholeNode, needy, ""},
		"two partners":                     {func(t *trouble) { t.hung(ordered(0, 1)); t.hung(ordered(2, 0)) }, ordered(0, 5), needy, ""},
		"three partners":                   {func(t *trouble) { t.hung(ordered(0, 1)); t.hung(ordered(2, 0)); t.hung(unordered(0, 3)) }, ordered(5, 0), needy, verdict.NotRun},
		"three partners, the GPU alone":    {func(t *trouble) { t.hung(ordered(0, 1)); t.hung(ordered(2, 0)); t.hung(unordered(0, 3)) }, gpu(0), needy, verdict.NotRun},
		"three partners, a partner":        {func(t *trouble) { t.hung(ordered(0, 1)); t.hung(ordered(2, 0)); t.hung(unordered(0, 3)) }, ordered(1, 2), needy, ""},
		"three partners, nothing needed":   {func(t *trouble) { t.hung(ordered(0, 1)); t.hung(ordered(2, 0)); t.hung(unordered(0, 3)) }, gpu(0), frugal, ""},
		"crashes with three partners":      {func(t *trouble) { t.crashed(ordered(0, 1)); t.crashed(ordered(2, 0)); t.crashed(unordered(0, 3)) }, ordered(0, 5), needy, ""},
		"one partner three ways":           {func(t *trouble) { t.hung(ordered(0, 1)); t.hung(ordered(1, 0)); t.hung(unordered(0, 1)) }, ordered(0, 5), needy, ""},
		"lost GPU": {func(t *trouble) {
			t.ended(fixtures.Spec{Check: needy, Subject: gpu(3)}, verdict.Errorf(verdict.GPULost, "gone"))
		}, ordered(0, 3), needy, verdict.NotRun},
		"lost GPU of a pair": {func(t *trouble) {
			t.ended(fixtures.Spec{Check: needy, Subject: ordered(0, 3)}, verdict.Errorf(verdict.GPULost, "gpu3 is lost: 15"))
		}, gpu(3), needy, verdict.NotRun},
		"the other of that pair": {func(t *trouble) {
			t.ended(fixtures.Spec{Check: needy, Subject: ordered(0, 3)}, verdict.Errorf(verdict.GPULost, "gpu3 is lost: 15"))
		}, gpu(0), needy, ""},
		"lost GPU that is none of the pair's": {func(t *trouble) {
			t.ended(fixtures.Spec{Check: needy, Subject: ordered(0, 3)}, verdict.Errorf(verdict.GPULost, "gpu31 is lost"))
		}, gpu(31), needy, ""},
		"no context": {func(t *trouble) {
			t.ended(fixtures.Spec{Check: context, Subject: gpu(2)}, verdict.Failf("context-failed", "46"))
		}, ordered(1, 2), needy, verdict.BlockedBy},
		"no context, others": {func(t *trouble) {
			t.ended(fixtures.Spec{Check: context, Subject: gpu(2)}, verdict.Failf("context-failed", "46"))
		}, ordered(0, 1), needy, ""},
		"no context, node": {func(t *trouble) {
			t.ended(fixtures.Spec{Check: context, Subject: gpu(2)}, verdict.Failf("context-failed", "46"))
		}, wholeNode, needy, ""},
		"no context, no need": {
			func(t *trouble) {
				t.ended(fixtures.Spec{Check: context, Subject: gpu(2)}, verdict.Failf("context-failed", "46"))
			},
			gpu(2), &fixtures.Check{ID: "a/d", Needs: fixtures.NVML}, "",
		},
		"a context": {func(t *trouble) {
			t.ended(fixtures.Spec{Check: context, Subject: gpu(2)}, verdict.Outcome{Verdict: verdict.Pass})
		}, gpu(2), needy, ""},
		"a skipped context": {func(t *trouble) { t.ended(fixtures.Spec{Check: context, Subject: gpu(2)}, verdict.Skipf("x", "y")) }, gpu(2), needy, ""},
		"a proof of the node": {func(t *trouble) {
			t.ended(fixtures.Spec{Check: context, Subject: wholeNode}, verdict.Errorf(verdict.Hang, "cuInit"))
		}, gpu(7), needy, verdict.BlockedBy},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrouble()
			c.happens(tr)
			o, decided := tr.verdict(fixtures.Spec{Check: c.check, Subject: c.ask})
			if decided != (c.code != "") || o.Code != c.code || decided && o.Message == "" {
				t.Errorf("%v %+v, want code %q", decided, o, c.code)
			}
		})
	}
}

// testLedger is a ledger over a plan of n specs; those named are settled.
func testLedger(n int, settled ...int) (*ledger, *[]string) {
	var log []string
	l := newLedger(nil, func(e journal.Event) {
		if e.Type == journal.TypeEnd {
			log = append(log, fmt.Sprintf("%s %s", e.Spec, e.Outcome.Verdict))
		}
	})
	check := &fixtures.Check{ID: "a/b", Kind: fixtures.EachGPU}
	var plan []fixtures.Spec
	for i := range n {
		s := fixtures.Spec{Check: check, Subject: gpu(i)}
		if slices.Contains(settled, i) {
			o := verdict.Errorf(verdict.BlockedBy, "by inventory")
			s.Settled = &o
		}
		plan = append(plan, s)
	}
	l.setPlan(plan)
	return l, &log
}

var pass = verdict.Outcome{Verdict: verdict.Pass}

func TestTheLedgerKeepsTheOrderOfThePlan(t *testing.T) {
	t.Parallel()
	l, log := testLedger(5, 0, 2, 4)
	if i := l.next(); i != 1 {
		t.Fatalf("next %d", i)
	}
	l.end(1, pass, 0)
	l.before(3)
	l.end(3, pass, 0)
	l.end(3, verdict.Failf("x", "a second end"), 0)
	if i := l.next(); i != 5 {
		t.Fatalf("next %d", i)
	}
	want := []string{"a/b[gpu0] error", "a/b[gpu1] pass", "a/b[gpu2] error", "a/b[gpu3] pass", "a/b[gpu4] error"}
	if !slices.Equal(*log, want) {
		t.Errorf("%q", *log)
	}
	if l.exit() != ExitFail {
		t.Errorf("exit %d", l.exit())
	}
}

func TestMaxFailCountsWhatIsSettledToo(t *testing.T) {
	t.Parallel()
	l, log := testLedger(4, 1, 2)
	l.maxFail = 1
	if i := l.next(); i != 0 {
		t.Fatalf("next %d", i)
	}
	l.end(0, pass, 0)
	l.before(3)
	if l.next(); !l.full() {
		t.Fatal("not full")
	}
	l.rest("stopped")
	want := []string{"a/b[gpu0] pass", "a/b[gpu1] error", "a/b[gpu2] error", "a/b[gpu3] error"}
	if !slices.Equal(*log, want) || l.counts[verdict.Error] != 3 {
		t.Errorf("%q", *log)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	skip, fail, erred := verdict.Skipf("x", "y"), verdict.Failf("x", "y"), verdict.Errorf("x", "y")
	waived := verdict.Outcome{Verdict: verdict.Waived}
	for name, c := range map[string]struct {
		ends []verdict.Outcome
		exit int
	}{
		"none":       {nil, ExitNothing},
		"skips":      {[]verdict.Outcome{skip, skip}, ExitNothing},
		"a pass":     {[]verdict.Outcome{skip, pass}, ExitPass},
		"a waiver":   {[]verdict.Outcome{skip, waived}, ExitPass},
		"a fail":     {[]verdict.Outcome{pass, fail}, ExitFail},
		"an error":   {[]verdict.Outcome{pass, erred}, ExitFail},
		"only fails": {[]verdict.Outcome{fail}, ExitFail},
	} {
		l, _ := testLedger(len(c.ends))
		for i, o := range c.ends {
			l.end(i, o, 0)
		}
		if l.exit() != c.exit {
			t.Errorf("%s: exit %d, want %d", name, l.exit(), c.exit)
		}
	}
}

func TestFiguresGoToTheChecksThatJudgeThem(t *testing.T) {
	t.Parallel()
	source, other := &fixtures.Check{ID: "a/source", Kind: fixtures.EachGPU}, &fixtures.Check{ID: "a/other", Kind: fixtures.EachGPU}
	judge := &fixtures.Check{ID: "a/judge", Kind: fixtures.EachGPU, Inputs: []string{"a/source"}}
	l := newLedger(nil, nil)
	l.setPlan([]fixtures.Spec{{Check: source, Subject: gpu(0)}, {Check: other, Subject: gpu(0)}, {Check: source, Subject: gpu(1)}, {Check: judge, Subject: gpu(0)}})
	for i := range 2 {
		l.measure(i, verdict.Measurement{Name: "bandwidth", Value: 5})
		l.end(i, pass, 0)
	}
	if got := l.earlier(l.plan[:3]); got != nil {
		t.Errorf("nobody judges, and was given %v", got)
	}
	got := l.earlier(l.plan[2:])
	if len(got) != 1 || got["a/source[gpu0]"].Measurements[0].Value != 5 {
		t.Errorf("%v", got)
	}
}

func TestOutputKeepsBothEnds(t *testing.T) {
	t.Parallel()
	var o output
	var whole strings.Builder
	for i := range 5000 {
		line := fmt.Sprintf("line %d\n", i)
		whole.WriteString(line)
		fmt.Fprint(&o, line)
	}
	got := o.String()
	all := whole.String()
	if !strings.HasPrefix(got, all[:keepOutput]) || !strings.HasSuffix(got, all[len(all)-keepOutput:]) {
		t.Error("an end is missing")
	}
	if !strings.Contains(got, fmt.Sprintf("%d bytes left out", len(all)-2*keepOutput)) {
		t.Error("it does not say how much is left out")
	}
	for _, size := range []int{0, 10, keepOutput, keepOutput + 1, 2 * keepOutput} {
		var o output
		text := strings.Repeat("x", size)
		fmt.Fprint(&o, text)
		if o.String() != text {
			t.Errorf("%d bytes are not kept whole", size)
		}
	}
	var big output
	fmt.Fprint(&big, strings.Repeat("a", 100<<10)+"end")
	if !strings.HasSuffix(big.String(), "aend") || len(big.tail) > 2*keepOutput {
		t.Error("one large write is not cut")
	}
}

func TestTheSignalOfACrash(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ stderr, signal, line string }{
		"in C":      {"noise\nSIGSEGV: segmentation violation\nPC=0x4 m=0 sigcode=1\n", "SIGSEGV", "SIGSEGV: segmentation violation"},
		"in Go":     {"panic: runtime error: invalid memory address\n[signal SIGSEGV: segmentation violation code=0x1]\n\ngoroutine 1\n", "SIGSEGV", "panic: runtime error: invalid memory address"},
		"abort":     {"free(): invalid pointer\nSIGABRT: abort\nPC=0x7\n", "SIGABRT", "SIGABRT: abort"},
		"deadlock":  {"fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1", "", "fatal error: all goroutines are asleep - deadlock!"},
		"a library": {"one\nsymbol lookup error: undefined symbol: nvmlX\n", "", "symbol lookup error: undefined symbol: nvmlX"},
		"nothing":   {"", "", ""},
		"a mention": {"we send SIGSEGV: never\n", "", "we send SIGSEGV: never"},
	} {
		if got := crashSignal(c.stderr); got != c.signal {
			t.Errorf("%s: signal %q, want %q", name, got, c.signal)
		}
		if got := crashLine(c.stderr); got != c.line {
			t.Errorf("%s: line %q, want %q", name, got, c.line)
		}
	}
}

func TestAVisibleNodeCountsFromZero(t *testing.T) {
	t.Parallel()
	n := &topology.Node{Peers: topology.NewPeers(4)}
	for slot, ordinal := range []int{2, -1, 0, 1} {
		n.GPUs = append(n.GPUs, topology.GPU{Slot: slot, CUDAOrdinal: ordinal, UUID: fmt.Sprint("GPU-", slot)})
	}
	seen := visibleNode(n, []int{0, 2})
	var ordinals []int
	for _, g := range seen.GPUs {
		ordinals = append(ordinals, g.CUDAOrdinal)
	}
	if want := []int{1, -1, 0, -1}; !slices.Equal(ordinals, want) {
		t.Errorf("ordinals %v, want %v", ordinals, want)
	}
	if got := uuids(n, []int{0, 2}); !slices.Equal(got, []string{"GPU-2", "GPU-0"}) {
		t.Errorf("UUIDs %v", got)
	}
	if got := uuids(seen, []int{0, 2}); !slices.Equal(got, []string{"GPU-2", "GPU-0"}) {
		t.Errorf("UUIDs in the child %v", got)
	}
	if len(seen.Peers) != 4 || seen.Peers[0] == nil || seen.Peers[1] != nil || n.Peers[1] == nil || n.GPUs[0].CUDAOrdinal != 2 {
		t.Error("peers of the others are kept, or the node was changed")
	}
}

func TestBatchesUnpackToWhatWasPacked(t *testing.T) {
	t.Parallel()
	node, err := decodeNode(twoGPUs)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := fixtures.Default.Plan(node, fixtures.Selection{})
	if err != nil || len(plan) == 0 {
		t.Fatal(plan, err)
	}
	var got, want []string
	for _, b := range batches(plan) {
		specs, err := b.specs(fixtures.Default)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range specs {
			got = append(got, s.ID())
		}
	}
	for _, s := range plan {
		want = append(want, s.ID())
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, b := range []batch{{Check: "no/such", GPUs: []int{0, 1}}, {Check: "unit/gpu", GPUs: []int{0}}} {
		if _, err := b.specs(fixtures.Default); err == nil {
			t.Errorf("%+v is accepted", b)
		}
	}
}

func TestAResumedPlanMustBeTheSame(t *testing.T) {
	t.Parallel()
	l, _ := testLedger(2)
	checks := describe(l.plan)
	for name, past := range map[string][]journal.Check{
		"another check":    {{ID: "a/z", Subjects: []string{"gpu0", "gpu1"}}},
		"another subject":  {{ID: "a/b", Subjects: []string{"gpu0"}}},
		"more than we can": {checks[0], {ID: "a/c"}},
	} {
		p := newPast()
		p.checks = past
		if err := p.replay(l, checks); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	p := newPast()
	p.checks = checks
	p.ends = []pastEnd{{"a/b[gpu0]", pass, 0}, {"a/b[gpu1]", verdict.Errorf(verdict.NotRun, "interrupted"), 0}, {"a/gone", pass, 0}}
	if err := p.replay(l, checks); err != nil {
		t.Fatal(err)
	}
	if i := l.next(); i != 1 || l.verdicts[0] != verdict.Pass {
		t.Errorf("next %d, %v", i, l.verdicts)
	}
}

// Three runs of one second have three folders.
func TestUsualFolderIsFree(t *testing.T) {
	t.Chdir(t.TempDir())
	dirs := map[string]bool{}
	for range 3 {
		r, err := prepare(Options{Node: "single", NodeText: "version: 1\ngpus: {count: 1, model: NVIDIA H200}\n"})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.ledger.journal.Close(); err != nil {
			t.Error(err)
		}
		dirs[r.dir] = true
	}
	if len(dirs) != 3 {
		t.Errorf("three runs made %v", dirs)
	}
}

func TestAShorterTimeoutIsNamedInTheHint(t *testing.T) {
	spec := fixtures.Spec{Check: &fixtures.Check{}, Subject: ordered(0, 1)}
	decides := fixtures.Spec{Check: &fixtures.Check{HangCode: "no-progress"}, Subject: ordered(0, 1)}
	for name, c := range map[string]struct {
		spec fixtures.Spec
		late time.Duration
		says string
	}{
		"its own":        {spec, 30 * time.Second, "see the kernel log for Xid lines of gpu0->gpu1"},
		"longer":         {spec, time.Minute, "see the kernel log"},
		"shorter":        {spec, time.Nanosecond, "--timeout set this limit, and without it the check has 30s"},
		"a hang decides": {decides, 30 * time.Second, ""},
		"not so shortly": {decides, time.Second, "--timeout set this limit"},
	} {
		o := lastWords{end: &childEnd{}, late: c.late, own: 30 * time.Second}.outcome(c.spec)
		if !strings.Contains(o.Hint, c.says) || c.says == "" && o.Hint != "" {
			t.Errorf("%s: hint %q, want %q", name, o.Hint, c.says)
		}
	}
}
