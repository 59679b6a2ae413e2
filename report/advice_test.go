package report_test

import (
	"strings"
	"testing"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

func TestAdvice(t *testing.T) {
	hinted := func(s report.Spec, hint string) report.Spec {
		s.Hint = hint
		return s
	}
	pairs := func(hint string, bad func(a, b int) bool) *report.Results {
		r := run{gpus: 8, bad: bad}.results()
		for i := range r.Specs {
			if r.Specs[i].Verdict == verdict.Fail {
				r.Specs[i].Hint = hint
			}
		}
		return r
	}
	of3 := func(a, b int) bool { return a == 3 || b == 3 }
	back := func(a, b int) bool { return a == 6 && b == 5 }
	suspect, slow := verdict.SuspectPath+". See which", verdict.SlowPath+": compare"
	with := func(r *report.Results, more ...report.Spec) *report.Results {
		r.Specs = append(r.Specs, more...)
		return r
	}
	const swap = "exchange gpu3 with a GPU of another slot"
	for name, tt := range map[string]struct {
		r    *report.Results
		want string // that the advice begins with
	}{
		"its own check's, though others come first": {
			with(pairs(suspect, of3), hinted(gpuSpec("bandwidth/local", 3, verdict.Fail, "data-mismatch"), suspect),
				hinted(gpuSpec("memory/patterns", 3, verdict.Fail, "bit-errors"), "run memory/ecc")),
			"run memory/ecc",
		},
		"its own, which compare": {
			with(pairs(suspect, of3), hinted(gpuSpec("bandwidth/local", 3, verdict.Fail, "data-mismatch"), suspect)),
			"take gpu3 out of service; then " + swap,
		},
		"its own without a hint":        {with(pairs(suspect, of3), gpuSpec("memory/patterns", 3, verdict.Fail, "bit-errors")), "begin with the first of its failures"},
		"pairs that are wrong":          {pairs(suspect, of3), "take gpu3 out of service; then " + swap},
		"pairs that are slow":           {pairs(slow, of3), "take gpu3 out of service; then " + swap},
		"pairs that know why":           {pairs("3 NVLink(s) of gpu3 are down", of3), "3 NVLink(s) of gpu3 are down. Then " + swap},
		"a slow pair":                   {pairs(slow, back), "exchange gpu6 with a GPU of another slot"},
		"a pair without a hint":         {pairs("", back), "exchange gpu6 with a GPU of another slot"},
		"a wrong pair":                  {pairs(suspect, back), "do not use gpu6->gpu5 until it passes; exchange gpu6 with"},
		"a pair that knows why":         {pairs("boot with iommu=pt", back), "boot with iommu=pt. Then exchange gpu6 with"},
		"every pair keeps what is said": {pairs(suspect, func(int, int) bool { return true }), suspect},
	} {
		t.Run(name, func(t *testing.T) {
			all := report.Findings(tt.r)
			if len(all) != 1 || !strings.HasPrefix(all[0].Do, tt.want) {
				t.Errorf("got %d findings, want one, that says %q first", len(all), tt.want)
				for _, f := range all {
					t.Logf("%s: %s", brief(f), f.Do)
				}
			}
		})
	}
}
