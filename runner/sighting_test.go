package runner

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/sim"
	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/runner/journal"
)

var _ = fixtures.Specify("unit/seen", fixtures.GPUs, nil, "holds", func(*fixtures.GPU) {}, fixtures.Needs(fixtures.NVML), fixtures.OfXids)

// started is twoGPUs with NVML.
var started = strings.Replace(twoGPUs, `"driver":{`, `"driver":{"nvml_init":{"op":"nvmlInit_v2"},`, 1)

// xidSpecs are two specs of GPUs, and those that judge what was seen.
var xidSpecs = fixtures.Selection{Keyword: "unit/gpu or unit/seen"}

// seeing is a child for each task: the monitor, the last one, which passes
// where it was told what it should have been, and the others.
func seeing(monitor, told, others string) string {
	return `case $task in
*'"kind":"monitor"'*) ` + monitor + `; sleep 60;;
*'"unit/seen"'*) case $task in ` + told + `) v=pass;; *) v=fail;; esac
	for i in 0 1; do say '{"k":"b","i":'$i'}'; say '{"k":"e","i":'$i',"o":{"verdict":"'$v'","code":"not-told"}}'; done; say '{"k":"d"}';;
*) ` + others + `;; esac`
}

const bothWatched = `say '{"k":"w","t":"0000:18:00.0","a":{"op":"nvmlDeviceRegisterEvents"}}'
	say '{"k":"w","t":"0000:2a:00.0","a":{"op":"nvmlDeviceRegisterEvents","code":3,"error":"Not Supported"}}'; say '{"k":"y"}'`

func TestXidsAreNamedAfterTheSpecThatRan(t *testing.T) {
	t.Parallel()
	const xid = `say '{"k":"z","z":{"bus_id":"0000:2a:00.0","code":79,"source":"NVML event"}}'`
	const slow = `say '{"k":"b","i":0}'; say '{"k":"e","i":0,"o":{"verdict":"pass"}}'
		say '{"k":"b","i":1}'; sleep 1; say '{"k":"e","i":1,"o":{"verdict":"pass"}}'; say '{"k":"d"}'`
	exit, events, err := scripted{
		discover: "say '" + started + "'", selection: xidSpecs,
		specs: seeing(bothWatched+"; sleep 0.5; "+xid, `*'"code":79'*'"specs":["unit/gpu[gpu1]"]'*'"0000:2a:00.0":"nvmlDeviceRegisterEvents: Not Supported (3)"'*`, slow),
	}.run(t, t.Context())
	if exit != ExitPass || err != nil {
		t.Fatalf("exit %d, error %v, %v", exit, err, ends(events))
	}
	i := slices.IndexFunc(events, func(e journal.Event) bool { return e.Type == journal.TypeXid })
	if i < 0 {
		t.Fatal("no Xid in the journal")
	}
	if x := events[i].Xid; x.Code != 79 || x.Provoked || !slices.Equal(x.Specs, []string{"unit/gpu[gpu1]"}) {
		t.Errorf("%+v", x)
	}
	last := slices.IndexFunc(events, func(e journal.Event) bool { return e.Spec == "unit/seen[gpu0]" && e.Type == journal.TypeStart })
	if last < i {
		t.Error("what judges the Xids ran before the others")
	}
}

func TestAMonitorThatEndsIsNoSourceAnyMore(t *testing.T) {
	t.Parallel()
	for name, monitor := range map[string]string{
		"it dies":           bothWatched + "; exit 7",
		"it fails":          `say '{"k":"x","t":"nvmlEventSetCreate: Unknown Error"}'; exit 0`,
		"it says nonsense":  "say '{'",
		"it never begins":   "sleep 60",
		"it dies of Xid 79": bothWatched + "; kill -SEGV $$",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := `*'"gone":"'*`
			if name == "it never begins" {
				told = `*'"xid_sources":{'*`
			}
			exit, events, err := scripted{
				discover: "say '" + started + "'", selection: xidSpecs, specs: seeing(monitor, told, good),
				patience: patience{spec: 5 * time.Second, quiet: time.Second, reap: 5 * time.Second},
			}.run(t, t.Context())
			if exit != ExitPass || err != nil {
				t.Errorf("exit %d, error %v, %v", exit, err, ends(events))
			}
		})
	}
}

func TestNobodyWatchesWhatNobodyJudges(t *testing.T) {
	t.Parallel()
	_, events, err := scripted{discover: "say '" + started + "'", selection: gpuSpecs, specs: seeing("say 'x'", "*", good)}.run(t, t.Context())
	if err != nil || slices.ContainsFunc(events, func(e journal.Event) bool { return e.Child != nil && e.Child.Task == taskMonitor }) {
		t.Errorf("error %v, or a monitor where no check asks for Xids", err)
	}
}

func TestSightedNamesWhoUsesTheGPU(t *testing.T) {
	t.Parallel()
	node, err := decodeNode(twoGPUs)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := fixtures.Default.Plan(node, fixtures.Selection{Keyword: "unit"})
	if err != nil {
		t.Fatal(err)
	}
	place := func(id string) int { return slices.IndexFunc(plan, func(s fixtures.Spec) bool { return s.ID() == id }) }
	gpu0, gpu1, alone := place("unit/gpu[gpu0]"), place("unit/gpu[gpu1]"), place("unit/alone[gpu0->gpu1]")
	for name, c := range map[string]struct {
		running  []int
		ended    []recent
		bus      string
		want     []string
		provoked bool
	}{
		"nothing runs":          {nil, nil, "0000:18:00", nil, false},
		"one runs":              {[]int{gpu0}, nil, "0000:18:00", []string{"unit/gpu[gpu0]"}, false},
		"one runs elsewhere":    {[]int{gpu0}, nil, "0000:2a:00.0", []string{"unit/gpu[gpu0]"}, false},
		"two run":               {[]int{gpu0, gpu1}, nil, "0000:2a:00.0", []string{"unit/gpu[gpu1]"}, false},
		"provoked":              {[]int{alone}, nil, "0000:2a:00", []string{"unit/alone[gpu0->gpu1]"}, true},
		"one has just ended":    {nil, []recent{{gpu1, time.Now()}}, "0000:2a:00", []string{"unit/gpu[gpu1]"}, false},
		"one ended long before": {nil, []recent{{gpu1, time.Now().Add(-time.Hour)}}, "0000:2a:00", nil, false},
	} {
		l := newLedger(nil, nil)
		l.setPlan(plan)
		s, err := newSupervisor(l, nil, task{}, node, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range c.running {
			s.live[&child{}] = &watch{running: i}
		}
		s.ended = c.ended
		s.sighted(topology.Xid{BusID: c.bus, Code: 31})
		if got := s.xids[0]; !slices.Equal(got.Specs, c.want) || got.Provoked != c.provoked {
			t.Errorf("%s: %+v, want %v", name, got, c.want)
		}
		for _, id := range c.want {
			if s.during(place(id)) == "" {
				t.Errorf("%s: nothing came during %s", name, id)
			}
		}
	}
}

// lines is a kernel log.
func lines(text string) cuda.Host {
	return cuda.Host{KernelLog: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

func TestWatchLog(t *testing.T) {
	t.Parallel()
	w, err := watchLog(lines("6,1,1,-;usb 1-1\n3,2,2,-;NVRM: Xid (PCI:0000:18:00): 79, pid=1, name=x, gone\n SUBSYSTEM=pci\n" +
		strings.Repeat("x", 40000) + "\n3,3,3,-;NVRM: Xid (PCI:0000:2a:00): 13, y\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	for _, want := range []int{79, 13} {
		select {
		case x := <-w.seen():
			if x.Code != want {
				t.Errorf("Xid %d, want %d", x.Code, want)
			}
		case <-time.After(5 * time.Second):
			t.Fatalf("no Xid %d", want)
		}
	}
	if _, err := watchLog(cuda.Host{KernelLog: func() (io.ReadCloser, error) { return nil, fs.ErrPermission }}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a log that may not be read: %v", err)
	}
	if _, err := watchLog(cuda.Host{}); err == nil {
		t.Error("a host without a log")
	}
	var none *logWatch
	if none.close(); none.seen() != nil {
		t.Error("no watch sees something")
	}
}

func TestClosingEndsAWatch(t *testing.T) {
	t.Parallel()
	file, err := sim.Parse("n.yaml", []byte("version: 1\ngpus: {count: 1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := watchLog(file.Open(sim.History{}).Host)
	if err != nil {
		t.Fatal(err)
	}
	w.close()
	select {
	case x := <-w.seen():
		t.Errorf("an Xid of nobody: %+v", x)
	case <-time.After(10 * time.Millisecond):
	}
}

func TestWatchEvents(t *testing.T) {
	t.Parallel()
	file, err := sim.Parse("n.yaml", []byte(`version: 1
gpus: {count: 3, model: NVIDIA L40S, memory: 1MiB}
faults:
  - {kind: xid, gpu: 1, code: 63, during: a/b}
  - {kind: nvml-error, gpu: 2, call: nvmlDeviceRegisterEvents, return: 3}
`))
	if err != nil {
		t.Fatal(err)
	}
	bundle := file.Open(sim.History{})
	node, err := topology.Discover(bundle, topology.DiscoverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node.GPUs[0].Hung = "NVML facts" // is not asked again
	told := map[string]int{}
	w, err := watchEvents(bundle.NVML, node, func(id string, c topology.Call) { told[id] = c.Code })
	if err != nil {
		t.Fatal(err)
	}
	if len(told) != 2 || told[node.GPUs[1].BusID] != 0 || told[node.GPUs[2].BusID] != 3 {
		t.Errorf("told %v", told)
	}
	if _, ok, err := w.next(0); ok || err != nil {
		t.Errorf("an event before any: %v", err)
	}
	bundle.Annotate("a/b[gpu0]")
	x, ok, err := w.next(0)
	if !ok || err != nil || x.Code != 63 || x.BusID != node.GPUs[1].BusID || x.Source != topology.FromNVML {
		t.Errorf("%+v, %t, %v", x, ok, err)
	}
	none, err := sim.Parse("n.yaml", []byte("version: 1\ngpus: {count: 1}\ndriver: none\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watchEvents(none.Open(sim.History{}).NVML, node, nil); err == nil {
		t.Error("events without a driver")
	}
}

func TestXidsOutliveARun(t *testing.T) {
	t.Parallel()
	p := newPast()
	if err := p.take(journal.Event{Type: journal.TypeXid, Xid: &topology.Xid{Code: 79}}); err != nil {
		t.Fatal(err)
	}
	l := newLedger(nil, nil)
	l.setPlan(nil)
	if err := p.replay(l, nil); err != nil || len(l.xids) != 1 || l.xids[0].Code != 79 {
		t.Errorf("%v, %v", l.xids, err)
	}
}

func TestChecksOfTheWholeRunAreNotGivenUp(t *testing.T) {
	t.Parallel()
	tr := newTrouble()
	tr.giveUp(1, "it is lost")
	for range subjectLimit {
		tr.crashed(gpu(0))
	}
	tr.crashed(gpu(2))
	tr.hung(ordered(2, 3))
	want := map[int]string{0: "3 hangs or crashes of its own", 1: "it is lost"}
	if got := tr.unusable(); !maps.Equal(got, want) {
		t.Errorf("unusable %v, want %v", got, want)
	}
	last := &fixtures.Check{ID: "a/b", Needs: fixtures.NVML, Last: true}
	for _, slot := range []int{0, 1} {
		if o, decided := tr.verdict(fixtures.Spec{Check: last, Subject: gpu(slot)}); decided {
			t.Errorf("gpu%d: %+v", slot, o)
		}
		usual := &fixtures.Check{ID: "a/c", Needs: fixtures.NVML | fixtures.CUDA}
		if o, decided := tr.verdict(fixtures.Spec{Check: usual, Subject: gpu(slot)}); !decided || o.Code != verdict.NotRun {
			t.Errorf("gpu%d, another check: %+v", slot, o)
		}
	}
	counters := &fixtures.Check{ID: "a/d", Needs: fixtures.NVML}
	if o, decided := tr.verdict(fixtures.Spec{Check: counters, Subject: gpu(1)}); decided {
		t.Errorf("what NVML tells of a GPU that was given up is not asked for: %+v", o)
	}
}
