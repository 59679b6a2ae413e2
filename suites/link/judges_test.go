package link

import (
	"strings"
	"testing"
	"time"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/topology"
)

func TestJudgePeer(t *testing.T) {
	ends := func(naming, silent int) end { return end{gpu: "gpuX", other: "gpuY", naming: naming, silent: silent} }
	for name, c := range map[string]struct {
		there, back end
		expected    int
		said, wrong bool
	}{
		"equal":                          {ends(4, 0), ends(4, 0), 0, false, false},
		"one less":                       {ends(4, 0), ends(3, 0), 0, false, true},
		"one less, the other way":        {ends(3, 0), ends(4, 0), 0, false, true},
		"one that is down tells nothing": {ends(4, 0), ends(3, 1), 0, false, false},
		"more than are down":             {ends(4, 0), ends(2, 1), 0, false, true},
		"as the profile says":            {ends(4, 0), ends(4, 0), 4, true, false},
		"fewer than the profile says":    {ends(3, 0), ends(3, 0), 4, true, true},
		"fewer, since one is down":       {ends(3, 1), ends(3, 1), 4, true, false},
		"more than the profile says":     {ends(4, 0), ends(4, 0), 3, true, true},
		"none where there should be":     {ends(0, 0), ends(0, 0), 4, true, true},
		"some where none should be":      {ends(4, 0), ends(4, 0), 0, true, true},
	} {
		if got := judgePeer(c.there, c.back, c.expected, c.said); (got != "") != c.wrong {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestEnds(t *testing.T) {
	a := fixtures.Facts{Slot: 0, BusID: "a", NVLinks: []topology.NVLink{
		{Link: 0, Active: true, Remote: "b"}, {Link: 1, Remote: "b"}, {Link: 2, Remote: ""}, {Link: 3, Active: true, Remote: "c"}, {Link: 4, Active: true},
	}}
	if got, want := ends(a, fixtures.Facts{Slot: 1, BusID: "b"}), (end{"gpu0", "gpu1", 2, 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := ends(a, fixtures.Facts{Slot: 1}); got.naming != 0 {
		t.Errorf("links that name a GPU without a bus id: %+v", got)
	}
}

func TestJudgeRemote(t *testing.T) {
	all := []fixtures.Facts{{Slot: 3, BusID: "c"}}
	for name, c := range map[string]struct {
		links []topology.NVLink
		told  bool
		says  string
	}{
		"all at switches":     {[]topology.NVLink{{Link: 0, Active: true, Switch: true}, {Link: 1, Switch: true}}, true, ""},
		"one at a GPU":        {[]topology.NVLink{{Link: 0, Active: true, Switch: true}, {Link: 7, Active: true, Remote: "c"}}, true, "7 at gpu3"},
		"one at a stranger":   {[]topology.NVLink{{Link: 7, Active: true, Remote: "x"}}, true, "7 at x"},
		"one nowhere":         {[]topology.NVLink{{Link: 0, Active: true, Switch: true}, {Link: 7, Active: true}}, true, "7 nowhere"},
		"one down at a GPU":   {[]topology.NVLink{{Link: 0, Active: true, Switch: true}, {Link: 7, Remote: "c"}}, true, ""},
		"nothing is told":     {[]topology.NVLink{{Link: 0, Active: true}, {Link: 1, Active: true}}, false, "0 nowhere, 1 nowhere"},
		"all down and silent": {[]topology.NVLink{{Link: 0}}, true, ""},
	} {
		told, wrong := judgeRemote(fixtures.Facts{NVLinks: c.links}, all)
		if told != c.told || strings.Join(wrong, ", ") != c.says {
			t.Errorf("%s: told %t, %q; want %t, %q", name, told, wrong, c.told, c.says)
		}
	}
}

func TestJudgeErrors(t *testing.T) {
	serious, corrected := fixtures.Rise{Name: "replay", By: 1, Serious: true}, fixtures.Rise{Name: "CRC", By: 30}
	none := fixtures.Rise{Name: "recovery", Serious: true}
	for name, c := range map[string]struct {
		rise      fixtures.Rise
		perMinute float64
		said      bool
		wrong     bool
	}{
		"none":                         {none, 0, true, false},
		"one that lost data":           {serious, 100, true, true},
		"corrected, recorded":          {corrected, 0, false, false},
		"corrected, at the limit":      {corrected, 10, true, false},
		"corrected, above the limit":   {corrected, 9.9, true, true},
		"corrected, where none may be": {corrected, 0, true, true},
	} {
		rises := fixtures.Rises{Since: 3 * time.Minute, PCIe: []fixtures.Rise{none, c.rise}, Links: map[int][]fixtures.Rise{5: {none, c.rise}}}
		if got := judgePCIe(rises, c.perMinute, c.said); (got != "") != c.wrong || c.wrong && !strings.Contains(got, c.rise.Name) {
			t.Errorf("%s: PCIe: %q", name, got)
		}
		if got := judgeLinks(rises, c.perMinute, c.said); (got != "") != c.wrong || c.wrong && !strings.Contains(got, c.rise.Name+" of NVLink 5") {
			t.Errorf("%s: NVLink: %q", name, got)
		}
	}
}
