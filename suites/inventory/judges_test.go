package inventory

import (
	"slices"
	"strings"
	"testing"

	"github.com/peerproof/peerproof/fixtures"
)

func TestJudgeFirmware(t *testing.T) {
	gpu := func(slot int, model, vbios, inforom string) fixtures.Facts {
		return fixtures.Facts{Slot: slot, Model: model, VBIOS: vbios, InfoROM: inforom}
	}
	for name, c := range map[string]struct {
		gpus     []fixtures.Facts
		compared bool
		says     []string // one of each complaint
	}{
		"equal":            {[]fixtures.Facts{gpu(0, "A", "1", "x"), gpu(1, "A", "1", "x")}, true, nil},
		"one alone":        {[]fixtures.Facts{gpu(0, "A", "1", "x")}, false, nil},
		"two models":       {[]fixtures.Facts{gpu(0, "A", "1", "x"), gpu(1, "B", "2", "y")}, false, nil},
		"unreadable":       {[]fixtures.Facts{gpu(0, "A", "1", ""), gpu(1, "A", "", "x")}, false, nil},
		"another VBIOS":    {[]fixtures.Facts{gpu(0, "A", "1", "x"), gpu(1, "A", "2", "x"), gpu(2, "A", "1", "x")}, true, []string{"VBIOS of A differs: 2 of gpu1, 1 of 2 others"}},
		"another InfoROM":  {[]fixtures.Facts{gpu(0, "A", "1", "x"), gpu(1, "A", "1", "y")}, true, []string{"InfoROM of A differs: y of gpu1, x of gpu0"}},
		"both differ":      {[]fixtures.Facts{gpu(0, "A", "1", "x"), gpu(1, "A", "2", "y")}, true, []string{"VBIOS", "InfoROM"}},
		"only one of them": {[]fixtures.Facts{gpu(0, "A", "1", ""), gpu(1, "A", "1", "")}, true, nil},
	} {
		compared, mixed := judgeFirmware(c.gpus)
		right := compared == c.compared && len(mixed) == len(c.says)
		for i := range min(len(mixed), len(c.says)) {
			right = right && strings.Contains(mixed[i], c.says[i])
		}
		if !right {
			t.Errorf("%s: compared %t, %q; want %t, %q", name, compared, mixed, c.compared, c.says)
		}
	}
}

func TestJudgePlacement(t *testing.T) {
	for name, c := range map[string]struct {
		want, got string
		wrong     bool
	}{
		"right": {"PIX", "PIX", false}, "another": {"PIX", "SYS", true}, "not said": {"", "SYS", false}, "not found": {"PIX", "", true},
	} {
		wrong := judgePlacement([]placement{{"the path", c.want}}, []placement{{"the path", c.got}})
		if (len(wrong) > 0) != c.wrong {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}

func TestJudgeIsolation(t *testing.T) {
	yes, no := true, false
	gpus := []fixtures.Facts{{Slot: 0, BusID: "a"}, {Slot: 1, BusID: "b", IOMMU: "identity"}, {Slot: 2, BusID: "c", IOMMU: "DMA-FQ"}}
	bridges := []fixtures.Bridge{{BusID: "p", Redirect: &yes}, {BusID: "q", Redirect: &no}, {BusID: "r"}}
	translated, redirecting, unread := judgeIsolation(gpus, bridges)
	if !slices.Equal(translated, []string{"gpu2 at c (DMA-FQ)"}) || !slices.Equal(redirecting, []string{"p"}) || !slices.Equal(unread, []string{"r"}) {
		t.Errorf("%q, %q, %q", translated, redirecting, unread)
	}
}

func TestCostOfRedirection(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		bridge fixtures.Bridge
		says   string
	}{
		"two GPUs meet above it":       {fixtures.Bridge{Redirect: &yes, Detours: true}, "up to the root complex"},
		"they have NVLink":             {fixtures.Bridge{Redirect: &yes}, "no way between two GPUs grows longer"},
		"it is another that redirects": {fixtures.Bridge{Redirect: &no, Detours: true}, "no way between two GPUs grows longer"},
	} {
		if got := costOfRedirection([]fixtures.Bridge{{Redirect: &yes}, c.bridge, {Detours: true}}); !strings.Contains(got, c.says) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestJudgeContainer(t *testing.T) {
	for name, c := range map[string]struct {
		missing []string
		shm     uint64
		code    string
	}{
		"right":        {nil, 1 << 30, ""},
		"a bit small":  {nil, 1<<30 - 1, "small-shm"},
		"unknown":      {nil, 0, "small-shm"},
		"a node":       {[]string{"/dev/nvidia-uvm"}, 1 << 30, "missing-device-node"},
		"both: a node": {[]string{"/dev/nvidia-uvm"}, 0, "missing-device-node"},
	} {
		if code, message := judgeContainer(c.missing, c.shm, 1<<30); code != c.code || (code == "") != (message == "") {
			t.Errorf("%s: %q %q, want %q", name, code, message, c.code)
		}
	}
}

func TestCapabilities(t *testing.T) {
	all, docker := uint64(1<<41-1), uint64(0xa80425fb)
	for name, c := range map[string]struct {
		mask *uint64
		want int
	}{"all": {&all, 0}, "what Docker leaves": {&docker, 3}, "unknown": {nil, 0}} {
		if got := withoutCapabilities(c.mask); len(got) != c.want {
			t.Errorf("%s: without %q, want %d", name, got, c.want)
		}
	}
}
