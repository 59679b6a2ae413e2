package sim

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/peerproof/peerproof/cuda/kernels"
)

// device opens NVML of a node with one more fault, and gives its GPU 1.
func faultyDevice(t *testing.T, base, fault string, history History) nvml.Device {
	t.Helper()
	lib := parse(t, base+"faults: ["+fault+"]\n").Open(history).NVML
	must(t, lib.Init())
	return handle(t, lib, 1)
}

// fieldOf is a field value, or the return that stands for it.
func fieldOf(t *testing.T, d nvml.Device, id uint32, link int) (uint64, nvml.Return) {
	t.Helper()
	values := []nvml.FieldValue{{FieldId: id, ScopeId: uint32(link)}}
	must(t, d.GetFieldValues(values))
	return binary.LittleEndian.Uint64(values[0].Value[:]), nvml.Return(values[0].NvmlReturn)
}

// What rises during the run has not risen when the node is discovered.
func TestLinkErrors(t *testing.T) {
	const fifth = "version: 1\ngpus: {count: 2, model: NVIDIA B200, memory: 1MiB}\nnvlink: {switch: {links: 18}}\n"
	counter := func(which nvml.NvLinkErrorCounter, link int) func(nvml.Device) uint64 {
		return func(d nvml.Device) uint64 {
			n, r := d.GetNvLinkErrorCounter(link, which)
			must(t, r)
			return n
		}
	}
	field := func(id uint32, link int) func(nvml.Device) uint64 {
		return func(d nvml.Device) uint64 {
			n, r := fieldOf(t, d, id, link)
			must(t, r)
			return n
		}
	}
	replays := func(d nvml.Device) uint64 {
		n, r := d.GetPcieReplayCounter()
		must(t, r)
		return uint64(n)
	}
	for name, c := range map[string]struct {
		base, keys string
		read       func(nvml.Device) uint64
		rise       uint64
	}{
		"a replay":                   {hgx2, "link: 3, counter: replay, rise: 5", counter(nvml.NVLINK_ERROR_DL_REPLAY, 3), 5},
		"a replay of another link":   {hgx2, "link: 3, counter: replay, rise: 5", counter(nvml.NVLINK_ERROR_DL_REPLAY, 4), 0},
		"a replay is no recovery":    {hgx2, "link: 3, counter: replay, rise: 5", counter(nvml.NVLINK_ERROR_DL_RECOVERY, 3), 0},
		"a recovery":                 {hgx2, "link: 3, counter: recovery, rise: 1", counter(nvml.NVLINK_ERROR_DL_RECOVERY, 3), 1},
		"a CRC error":                {hgx2, "link: 3, counter: crc, rise: 7", counter(nvml.NVLINK_ERROR_DL_CRC_FLIT, 3), 7},
		"a recovery of NVLink 5":     {fifth, "link: 3, counter: recovery, rise: 2", field(nvml.FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS, 3), 2},
		"a CRC error of NVLink 5":    {fifth, "link: 3, counter: crc, rise: 2", field(nvml.FI_DEV_NVLINK_COUNT_RCV_ERRORS, 3), 2},
		"another link of NVLink 5":   {fifth, "link: 3, counter: crc, rise: 2", field(nvml.FI_DEV_NVLINK_COUNT_RCV_ERRORS, 2), 0},
		"a correctable PCIe error":   {pcie2, "pcie: correctable, rise: 3", replays, 3},
		"uncorrectable, replays":     {pcie2, "pcie: uncorrectable, rise: 3", replays, 0},
		"an uncorrectable one":       {pcie2, "pcie: uncorrectable, rise: 3", field(nvml.FI_DEV_PCIE_COUNT_NON_FATAL_ERROR, 0), 3},
		"correctable is no fatal":    {pcie2, "pcie: correctable, rise: 3", field(nvml.FI_DEV_PCIE_COUNT_NON_FATAL_ERROR, 0), 0},
		"correctable, NVML's number": {pcie2, "pcie: correctable, rise: 3", field(nvml.FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS, 0), 3},
	} {
		fault := "{kind: link-errors, gpu: 1, " + c.keys + "}"
		before := c.read(faultyDevice(t, c.base, fault, History{}))
		after := c.read(faultyDevice(t, c.base, fault, History{Begun: true}))
		if after-before != c.rise {
			t.Errorf("%s: from %d to %d, want a rise of %d", name, before, after, c.rise)
		}
	}
	for _, c := range []struct {
		base string
		id   uint32
		link int
		want nvml.Return
	}{
		{hgx2, nvml.FI_DEV_NVLINK_COUNT_RCV_ERRORS, 0, nvml.ERROR_NOT_SUPPORTED},
		{fifth, nvml.FI_DEV_NVLINK_COUNT_RCV_ERRORS, 18, nvml.ERROR_INVALID_ARGUMENT},
		{pcie2, nvml.FI_DEV_NVLINK_LINK_COUNT, 0, nvml.ERROR_NOT_SUPPORTED},
		{pcie2, 9999, 0, nvml.ERROR_NOT_SUPPORTED},
	} {
		if _, r := fieldOf(t, handle(t, openNVML(t, c.base), 1), c.id, c.link); r != c.want {
			t.Errorf("field %d: %v, want %v", c.id, r, c.want)
		}
	}
	if _, r := handle(t, openNVML(t, fifth), 1).GetNvLinkErrorCounter(0, nvml.NVLINK_ERROR_DL_REPLAY); r != nvml.ERROR_NOT_SUPPORTED {
		t.Errorf("counters of NVLink 4 on NVLink 5: %v", r)
	}
}

func TestErrorReportingFiles(t *testing.T) {
	const text = pcie2 + "faults: [{kind: link-errors, gpu: 1, pcie: uncorrectable, rise: 4}]\n"
	for begun, want := range map[bool]string{false: "TOTAL_ERR_NONFATAL 0", true: "TOTAL_ERR_NONFATAL 4"} {
		h := parse(t, text).Open(History{Begun: begun}).Host
		if got := read(t, h.FS, devices+"0000:2a:00.0/aer_dev_nonfatal"); !strings.HasSuffix(got, want) {
			t.Errorf("begun %t: %q, want %q", begun, got, want)
		}
		if got := read(t, h.FS, devices+"0000:18:00.0/aer_dev_nonfatal"); !strings.HasSuffix(got, "TOTAL_ERR_NONFATAL 0") {
			t.Errorf("the other GPU: %q", got)
		}
	}
}

func TestLinkErrorsRefused(t *testing.T) {
	for keys, want := range map[string]string{
		"rise: 1":                                  "needs at least one of counter, pcie",
		"counter: replay, rise: 1":                 "counter needs link",
		"link: 18, counter: replay, rise: 1":       "no link 18",
		"link: 1, pcie: correctable, rise: 1":      "both pcie and an NVLink's",
		"counter: crc, pcie: correctable, rise: 1": "both pcie and an NVLink's",
		"link: 1, counter: replay":                 "rise",
		"link: 1, counter: parity, rise: 1":        "replay, recovery",
	} {
		_, err := Parse("n.yaml", []byte(hgx2+"faults: [{kind: link-errors, gpu: 1, "+keys+"}]\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", keys, err, want)
		}
	}
	if _, err := Parse("n.yaml", []byte(pcie2+"faults: [{kind: link-errors, gpu: 1, link: 0, counter: crc, rise: 1}]\n")); err == nil || !strings.Contains(err.Error(), "no NVLink") {
		t.Errorf("an NVLink of a node without: %v", err)
	}
}

// xidsOf counts what the two sources tell once these specs were annotated.
func xidsOf(t *testing.T, keys string, history History, specs ...string) (events, lines int) {
	t.Helper()
	b := parse(t, hgx2+"faults: [{kind: xid, gpu: 1, code: 79"+keys+"}]\n").Open(history)
	must(t, b.NVML.Init())
	set, r := b.NVML.EventSetCreate()
	must(t, r)
	must(t, handle(t, b.NVML, 1).RegisterEvents(nvml.EventTypeXidCriticalError, set))
	log, err := b.Host.KernelLog()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range specs {
		b.Annotate(s)
	}
	for {
		data, r := set.Wait(0)
		if r != nvml.SUCCESS {
			break
		}
		if data.EventData != 79 {
			t.Errorf("Xid %d", data.EventData)
		}
		events++
	}
	text := make(chan string)
	go func() {
		all, _ := io.ReadAll(log) // until it is closed
		text <- string(all)
	}()
	idle := log.(interface{ Idle() bool })
	for deadline := time.Now().Add(5 * time.Second); !idle.Idle() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	all := <-text
	return events, strings.Count(all, "NVRM: Xid (PCI:0000:2a:00): 79, ")
}

func TestXidOnceAtItsSpec(t *testing.T) {
	for name, c := range map[string]struct {
		keys    string
		history History
		specs   []string
		want    int
	}{
		"at once":                     {"", History{}, []string{"a/b", "a/c"}, 1},
		"before any spec":             {"", History{}, nil, 0},
		"at its spec":                 {", during: a/c", History{}, []string{"a/b", "a/c[gpu0]", "a/c[gpu1]"}, 1},
		"never":                       {", during: a/d", History{}, []string{"a/b", "a/c"}, 0},
		"an earlier process had it":   {", during: a/c", History{Started: []string{"a/c[gpu0]"}}, []string{"a/c[gpu1]"}, 0},
		"an earlier one had not":      {", during: a/c", History{Started: []string{"a/b"}}, []string{"a/c[gpu1]"}, 1},
		"before the run":              {", during: before-run", History{}, []string{"a/b"}, 0},
		"before the run, another way": {", before-run: true", History{}, []string{"a/b"}, 0},
	} {
		events, lines := xidsOf(t, c.keys, c.history, c.specs...)
		if events != c.want || lines != c.want {
			t.Errorf("%s: %d events, %d lines, want %d", name, events, lines, c.want)
		}
	}
}

// Throttling shows under load alone.
func TestThrottle(t *testing.T) {
	for reason, want := range clocksEventReasons {
		r := open(t, hgx2+"faults: [{kind: throttle, gpu: 0, reason: "+reason+", temperature: 97}]\n", History{})
		must(t, r.bundle.NVML.Init())
		d := handle(t, r.bundle.NVML, 0)
		idle, ret := d.GetCurrentClocksEventReasons()
		must(t, ret)
		cool, ret := d.GetTemperature(nvml.TEMPERATURE_GPU)
		must(t, ret)
		p := r.alloc(0, 1<<20)
		r.ok(r.launch(0, r.stream(0), kernels.Fill, uint64(p), 1<<20, 1, 0))
		busy, ret := d.GetCurrentClocksEventReasons()
		must(t, ret)
		older, ret := d.GetCurrentClocksThrottleReasons()
		must(t, ret)
		hot, ret := d.GetTemperature(nvml.TEMPERATURE_GPU)
		must(t, ret)
		r.ok(r.api.CtxSynchronize())
		if idle != nvml.ClocksEventReasonGpuIdle || busy != want || older != want || cool >= 97 || hot != 97 {
			t.Errorf("%s: idle %#x at %d degrees, busy %#x (%#x) at %d, want %#x", reason, idle, cool, busy, older, hot, want)
		}
	}
}

func TestConfidentialComputing(t *testing.T) {
	for mode, want := range map[string]nvml.ConfComputeSystemState{
		"off":      {},
		"on":       {Environment: nvml.CC_SYSTEM_ENVIRONMENT_PROD, CcFeature: nvml.CC_SYSTEM_FEATURE_ENABLED},
		"devtools": {Environment: nvml.CC_SYSTEM_ENVIRONMENT_PROD, CcFeature: nvml.CC_SYSTEM_FEATURE_ENABLED, DevToolsMode: nvml.CC_SYSTEM_DEVTOOLS_MODE_ON},
	} {
		lib := openNVML(t, hgx2+fmt.Sprintf("faults: [{kind: cc-mode, gpu: 1, mode: \"%s\"}]\n", mode))
		state, r := lib.SystemGetConfComputeState()
		must(t, r)
		if state != want {
			t.Errorf("%s: %+v, want %+v", mode, state, want)
		}
		for i, protected := range []bool{false, mode != "off"} {
			sizes, r := handle(t, lib, i).GetConfComputeMemSizeInfo()
			must(t, r)
			if (sizes.ProtectedMemSizeKib > 0) != protected {
				t.Errorf("%s: GPU %d protects %d KiB", mode, i, sizes.ProtectedMemSizeKib)
			}
		}
	}
}

func TestFabricManagersLog(t *testing.T) {
	const log = "var/log/fabricmanager.log"
	for text, want := range map[string]string{
		hgx2:                                    "580.95.05",
		hgx2 + "driver: {version: 570.86.15}\n": "570.86.15",
		hgx2 + "driver: {version: 580.95.05, fabric-manager: 570.86.15}\n": "570.86.15",
		hgx2 + "driver: none\n":                     "",
		hgx2 + "environment: {virtualised: true}\n": "",
		pcie2: "",
	} {
		got := read(t, parse(t, text).Open(History{}).Host.FS, log)
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q, want %q\n%s", got, want, text)
		}
	}
	if _, err := Parse("n.yaml", []byte(hgx2+"driver: {fabric-manager: new}\n")); err == nil {
		t.Error("a version that is none")
	}
}
