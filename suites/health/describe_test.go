package health

import (
	"strings"
	"testing"

	"github.com/peerproof/peerproof/fixtures"
)

func TestDescribe(t *testing.T) {
	xid := func(provoked bool, text string, specs ...string) fixtures.Xid {
		return fixtures.Xid{Code: 31, Provoked: provoked, Text: text, Specs: specs}
	}
	for name, c := range map[string]struct {
		count int
		ours  []fixtures.Xid
		want  string
	}{
		"one":               {1, []fixtures.Xid{xid(false, "MMU Fault.", "a/b[gpu0]")}, "Xid 31 during a/b[gpu0]: MMU Fault"},
		"twice in one spec": {2, []fixtures.Xid{xid(false, "", "a/b[gpu0]"), xid(false, "second", "a/b[gpu0]")}, "2 times Xid 31 during a/b[gpu0]: second"},
		"between specs":     {1, []fixtures.Xid{xid(true, "")}, "Xid 31 between specs"},
		"three specs":       {1, []fixtures.Xid{xid(false, "", "a", "b", "c")}, "Xid 31 during a, b, c"},
		"four specs":        {1, []fixtures.Xid{xid(false, "", "a", "b", "c", "d")}, "Xid 31 during a, b, c and 1 more"},
		"provoked":          {1, []fixtures.Xid{xid(true, "", "a")}, "Xid 31 during a, which provoke faults on purpose"},
		"provoked in part":  {2, []fixtures.Xid{xid(false, "", "a"), xid(true, "", "b")}, "2 times Xid 31 during a, b"},
	} {
		if got := describe(31, c.count, c.ours); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestSeverity(t *testing.T) {
	for text, want := range map[string]string{
		"RLW Fatal XC0": "fatal", "RLW Nonfatal XC0": "nonfatal", "a non-fatal one": "nonfatal", "a Non Fatal one": "nonfatal", "NON_FATAL": "nonfatal", "link down": "", "": "",
	} {
		if got := severity(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Every Xid that the catalogue groups leads to its own step.
func TestXidHint(t *testing.T) {
	for code, want := range map[int]string{79: "PCIe bus", 48: "memory", 95: "memory", 74: "NVLink", 150: "NVLink", 62: "firmware", 120: "firmware", 54: "power", 110: "power", 154: "recovery", 1000: "catalogue"} {
		if got := xidHint([]int{1, code}); !strings.Contains(got, want) {
			t.Errorf("Xid %d: %s", code, got)
		}
	}
	if got := xidHint([]int{48, 79}); !strings.Contains(got, "PCIe bus") {
		t.Errorf("a GPU that fell off the bus comes first: %s", got)
	}
}
