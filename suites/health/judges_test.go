package health

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/topology"
)

func TestJudgeXids(t *testing.T) {
	event := func(code int, specs ...string) fixtures.Xid {
		return fixtures.Xid{Code: code, Source: topology.FromNVML, Specs: specs}
	}
	line := func(code int, text string, specs ...string) fixtures.Xid {
		return fixtures.Xid{Code: code, Source: fixtures.FromKernelLog, Text: text, Specs: specs}
	}
	for name, c := range map[string]struct {
		seen                  []fixtures.Xid
		hardware, unknown     int
		application, nonfatal int
		says                  string
	}{
		"none":                       {},
		"fallen off the bus":         {seen: []fixtures.Xid{event(79, "a/b"), line(79, "GPU has fallen off the bus.", "a/b")}, hardware: 1, says: "Xid 79 during a/b: GPU has fallen off the bus"},
		"known by its number alone":  {seen: []fixtures.Xid{event(48)}, hardware: 1, says: "Xid 48 between specs"},
		"known by its text alone":    {seen: []fixtures.Xid{line(48, "DBE")}, hardware: 1, says: "DBE"},
		"a program's":                {seen: []fixtures.Xid{event(31), line(31, "MMU Fault"), event(13), event(43), event(45)}, application: 4},
		"a program's, three times":   {seen: []fixtures.Xid{event(31), event(31), event(31), line(31, "x")}, application: 3},
		"one that nobody knows":      {seen: []fixtures.Xid{event(9999)}, hardware: 1},
		"two kinds":                  {seen: []fixtures.Xid{event(79), event(48)}, hardware: 2},
		"NVLink, nonfatal":           {seen: []fixtures.Xid{event(145), line(145, "RLW Nonfatal XC0")}, nonfatal: 1},
		"NVLink, non-fatal":          {seen: []fixtures.Xid{line(150, "severity: NON-FATAL")}, nonfatal: 1},
		"NVLink, fatal":              {seen: []fixtures.Xid{event(149), line(149, "NETIR_LINK_EVT  Fatal   XC0 i0 Link 08")}, hardware: 1},
		"NVLink, without a text":     {seen: []fixtures.Xid{event(144)}, unknown: 1},
		"NVLink, a text of no use":   {seen: []fixtures.Xid{line(144, "SAW_MVB")}, unknown: 1},
		"NVLink, one of two unknown": {seen: []fixtures.Xid{line(144, "Nonfatal"), line(144, "?")}, unknown: 1},
		"NVLink, one of two fatal":   {seen: []fixtures.Xid{line(144, "Nonfatal"), line(144, "Fatal")}, hardware: 1},
		"before the NVLink ones":     {seen: []fixtures.Xid{line(143, "Nonfatal")}, hardware: 1},
		"after the NVLink ones":      {seen: []fixtures.Xid{line(151, "Nonfatal")}, hardware: 1},
		"many specs":                 {seen: []fixtures.Xid{event(79, "a", "b", "c", "d")}, hardware: 1, says: "during a, b, c and 1 more"},
	} {
		got := judgeXids(c.seen)
		if len(got.hardware) != c.hardware || len(got.unknown) != c.unknown || got.application != c.application || got.nonfatal != c.nonfatal ||
			!strings.Contains(strings.Join(got.hardware, "; "), c.says) || len(got.codes) != c.hardware {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestProvokedXids(t *testing.T) {
	x := fixtures.Xid{Code: 31, Source: topology.FromNVML, Specs: []string{"access/one-way-is-one-way[gpu0->gpu1]"}, Provoked: true}
	if got := judgeXids([]fixtures.Xid{x}); !slices.ContainsFunc(got.notes, func(n string) bool { return strings.Contains(n, "on purpose") }) {
		t.Errorf("%q", got.notes)
	}
}

func TestJudgeSlowdowns(t *testing.T) {
	capped := fixtures.Slowdown{Name: "software power cap", Share: 1}
	warm := fixtures.Slowdown{Name: "software thermal slowdown", Heat: true, Share: 0.5}
	hot := fixtures.Slowdown{Name: "hardware thermal slowdown", Hardware: true, Heat: true, Share: 0.1}
	brake := fixtures.Slowdown{Name: "hardware power brake", Hardware: true, Supply: true, Share: 0.2}
	hardware := func(r fixtures.Slowdown) bool { return r.Hardware }
	for name, c := range map[string]struct {
		seen       []fixtures.Slowdown
		throttled  bool
		hint       string
		hottest    float64
		slowdownAt int
		most       int
		heat       bool
	}{
		"none":                {hottest: 60, slowdownAt: 92},
		"a cap keeps it":      {seen: []fixtures.Slowdown{capped}, hottest: 60, slowdownAt: 92},
		"warm":                {seen: []fixtures.Slowdown{warm}, hint: "too hot", hottest: 88, heat: true},
		"hot":                 {seen: []fixtures.Slowdown{capped, hot}, throttled: true, hint: "too hot", hottest: 93, heat: true},
		"a brake":             {seen: []fixtures.Slowdown{brake}, throttled: true, hint: "power cables", hottest: 60, slowdownAt: 92},
		"below the threshold": {hottest: 91, slowdownAt: 92},
		"at the threshold":    {hottest: 92, slowdownAt: 92, heat: true},
		"no threshold":        {hottest: 120},
		"at the profile's":    {hottest: 80, slowdownAt: 92, most: 80},
		"above the profile's": {hottest: 81, slowdownAt: 92, most: 80, heat: true},
	} {
		if got := judgeSlowdowns(c.seen, hardware); (got != "") != c.throttled {
			t.Errorf("%s: throttle: %q", name, got)
		}
		if got := judgeHeat(c.hottest, c.slowdownAt, c.most, c.seen); (got != "") != c.heat {
			t.Errorf("%s: heat: %q", name, got)
		}
		if hint := slowdownHint(c.seen); !strings.Contains(hint, c.hint) {
			t.Errorf("%s: hint %q", name, hint)
		}
	}
}

func TestJudgeProducts(t *testing.T) {
	right, wrong, none := fixtures.Product{Kind: "fp32", Checked: 9}, fixtures.Product{Kind: "tensor cores", Wrong: 2, Checked: 9}, fixtures.Product{Kind: "fp64"}
	if got := judgeProducts([]fixtures.Product{right, wrong}); got != "2 of 9 results of tensor cores are wrong" {
		t.Errorf("%q", got)
	}
	if got := judgeProducts([]fixtures.Product{right}) + withoutResults([]fixtures.Product{right}); got != "" {
		t.Errorf("right ones: %q", got)
	}
	if got := withoutResults([]fixtures.Product{right, none}); got != "fp64" {
		t.Errorf("without results: %q", got)
	}
}

func TestJudgeReplies(t *testing.T) {
	quick, slow := fixtures.Reply{Function: "a", Took: time.Second}, fixtures.Reply{Function: "b", Took: time.Second + 1}
	for _, c := range []struct {
		all   []fixtures.Reply
		most  time.Duration
		wrong bool
	}{{nil, 0, false}, {[]fixtures.Reply{quick}, time.Second, false}, {[]fixtures.Reply{slow, quick}, time.Second + 1, true}} {
		slowest, message := judgeReplies(c.all, time.Second)
		if slowest != c.most || (message != "") != c.wrong {
			t.Errorf("%v: %s, %q", c.all, slowest, message)
		}
	}
}

func TestJudgeMemoryErrors(t *testing.T) {
	for _, c := range []struct {
		rise  fixtures.Rise
		wrong bool
	}{
		{fixtures.Rise{By: 1, Serious: true}, true}, {fixtures.Rise{By: 0, Serious: true}, false}, {fixtures.Rise{By: 5}, false},
	} {
		if got := judgeMemoryErrors([]fixtures.Rise{c.rise}); (got != "") != c.wrong {
			t.Errorf("%+v: %q", c.rise, got)
		}
	}
}
