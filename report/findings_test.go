package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/internal/sample"
)

// run is a small run being made up: every ordered pair is tested, and those
// that bad names fail.
type run struct {
	gpus  int
	class func(a, b int) string // nil: NV18
	bad   func(a, b int) bool
	more  []report.Spec
	gone  []int
}

func (m run) results() *report.Results {
	r := &report.Results{Node: sample.Node(m.gpus)}
	for _, i := range m.gone {
		r.Node.GPUs[i].NVMLIndex, r.Node.GPUs[i].CUDAOrdinal = -1, -1
	}
	r.Specs = append(r.Specs, m.more...)
	for a := range m.gpus {
		for b := range m.gpus {
			if a == b {
				continue
			}
			s := pairSpec("bandwidth/write-ce", a, b, verdict.Pass, "")
			if m.class != nil {
				s.Path = m.class(a, b)
			}
			if m.bad != nil && m.bad(a, b) {
				s.Verdict, s.Code = verdict.Fail, "below-floor"
			}
			r.Specs = append(r.Specs, s)
		}
	}
	return r
}

func pairSpec(check string, a, b int, v verdict.Verdict, code string) report.Spec {
	return report.Spec{
		ID: fmt.Sprintf("%s[gpu%d->gpu%d]", check, a, b), Verdict: v, Code: code, Path: "NV18",
		Subject: &report.Subject{From: fmt.Sprintf("gpu%d", a), To: fmt.Sprintf("gpu%d", b)},
	}
}

func gpuSpec(check string, gpu int, v verdict.Verdict, code string) report.Spec {
	return report.Spec{ID: fmt.Sprintf("%s[gpu%d]", check, gpu), Verdict: v, Code: code, Subject: &report.Subject{GPU: fmt.Sprintf("gpu%d", gpu)}}
}

func blocked(s report.Spec, by string) report.Spec {
	s.Verdict, s.Code, s.Message = verdict.Error, verdict.BlockedBy, "blocked by "+by+": because"
	return s
}

func TestFindings(t *testing.T) {
	either := func(a, b, x int) bool { return a == x || b == x }
	sockets := func(a, b int) string {
		if a/2 == b/2 {
			return "PIX"
		}
		return "SYS"
	}
	for name, tt := range map[string]struct {
		run  run
		want []string // scope, subject, own specs, blocked
		why  string   // of the first
	}{
		"healthy":  {run{gpus: 4}, nil, ""},
		"one pair": {run{gpus: 8, bad: func(a, b int) bool { return a == 5 && b == 6 }}, []string{"pair gpu5-gpu6 1 0"}, "All 12 pairs of the two with other GPUs pass"},
		"one pair of two": {
			run{gpus: 2, bad: func(a, _ int) bool { return a == 1 }},
			[]string{"pair gpu0-gpu1 1 0"},
			"Neither was tested with another GPU",
		},
		"one GPU": {
			run{gpus: 8, bad: func(a, b int) bool { return either(a, b, 3) }},
			[]string{"gpu gpu3 14 0"},
			"It is in 7 of the 7 failing pairs, and 7 of its 7 tested pairs fail; of the pairs without it all 21 pass.",
		},
		"one GPU's engines":     {run{gpus: 8, bad: func(a, _ int) bool { return a == 3 }}, []string{"gpu gpu3 7 0"}, "only where its own engines do the work"},
		"one GPU's memory":      {run{gpus: 8, bad: func(_, b int) bool { return b == 3 }}, []string{"gpu gpu3 7 0"}, "only where others work on its memory"},
		"one GPU of three":      {run{gpus: 3, bad: func(a, b int) bool { return either(a, b, 1) }}, []string{"gpu gpu1 4 0"}, "of the pairs without it the only one passes"},
		"two GPUs":              {run{gpus: 8, bad: func(a, b int) bool { return either(a, b, 3) || either(a, b, 6) }}, []string{"gpu gpu3 14 0", "gpu gpu6 12 0"}, ""},
		"a GPU and a pair":      {run{gpus: 8, bad: func(a, b int) bool { return either(a, b, 1) || a == 5 && b == 6 }}, []string{"gpu gpu1 14 0", "pair gpu5-gpu6 1 0"}, ""},
		"two pairs of one GPU":  {run{gpus: 8, bad: func(a, b int) bool { return a == 0 && b <= 2 }}, []string{"pair gpu0-gpu1 1 0", "pair gpu0-gpu2 1 0"}, ""},
		"every pair":            {run{gpus: 4, bad: func(int, int) bool { return true }}, []string{"node every pair: below-floor 12 0"}, "not one GPU"},
		"what sockets share":    {run{gpus: 4, class: sockets, bad: func(a, b int) bool { return a/2 != b/2 }}, []string{"paths SYS 8 0"}, "4 of the 4 pairs over SYS fail"},
		"a GPU across sockets":  {run{gpus: 4, class: sockets, bad: func(a, b int) bool { return either(a, b, 0) }}, []string{"gpu gpu0 6 0"}, ""},
		"links, then its pairs": {run{gpus: 8, more: []report.Spec{gpuSpec("link/nvlink-active", 2, verdict.Fail, "links-down")}, bad: func(a, b int) bool { return a == 2 && b == 4 }}, []string{"gpu gpu2 2 0"}, "It fails by itself: link/nvlink-active"},
		"a bridge": {
			run{
				gpus: 4, bad: func(a, b int) bool { return a+b == 1 },
				more: []report.Spec{gpuSpec("link/nvlink-active", 0, verdict.Fail, "links-down"), gpuSpec("link/nvlink-active", 1, verdict.Fail, "links-down")},
			},
			[]string{"pair gpu0-gpu1 4 0"},
			"more likely what lies between them",
		},
		"a setting is no cause": {
			run{gpus: 8, more: []report.Spec{gpuSpec("inventory/persistence", 5, verdict.Fail, "persistence-off")}, bad: func(a, b int) bool { return a == 5 && b == 6 }},
			[]string{"pair gpu5-gpu6 1 0", "gpu gpu5 1 0"},
			"",
		},
		"a setting everywhere": {
			run{gpus: 3, more: []report.Spec{
				gpuSpec("inventory/persistence", 0, verdict.Fail, "persistence-off"), gpuSpec("inventory/persistence", 1, verdict.Fail, "persistence-off"),
				gpuSpec("inventory/persistence", 2, verdict.Fail, "persistence-off"),
			}},
			[]string{"node every GPU: persistence-off 3 0"},
			"it is a setting",
		},
		"missing": {
			run{gpus: 2, gone: []int{1}, more: []report.Spec{
				{ID: "inventory/gpu-count", Verdict: verdict.Fail, Code: "missing-gpu", Message: "1 GPU(s) missing: gpu1 at 0000:19:00.0", Hint: "reseat it"},
				blocked(gpuSpec("link/nvlink-active", 1, "", ""), "inventory/gpu-count"),
				blocked(pairSpec("transfer/copy", 0, 1, "", ""), "link/nvlink-active[gpu1]"),
			}},
			[]string{"gpu gpu1 1 2"},
			"2 specs could not be decided because of it",
		},
		"two missing": {
			run{gpus: 3, gone: []int{1, 2}, more: []report.Spec{
				{ID: "inventory/gpu-count", Verdict: verdict.Fail, Code: "missing-gpu", Message: "2 GPU(s) missing: gpu1 and gpu2"},
				blocked(gpuSpec("link/nvlink-active", 2, "", ""), "inventory/gpu-count"),
			}},
			[]string{"gpu gpu2 1 1", "gpu gpu1 1 0"},
			"",
		},
		"no context": {
			run{gpus: 2, more: []report.Spec{
				gpuSpec("inventory/context", 0, verdict.Fail, verdict.ContextFailed),
				blocked(pairSpec("transfer/copy", 0, 1, "", ""), "inventory/context[gpu0]"),
			}},
			[]string{"gpu gpu0 1 1"},
			"",
		},
		"a check of the node names a pair": {
			run{gpus: 8, more: []report.Spec{{ID: "bandwidth/concurrent", Verdict: verdict.Fail, Code: "contention", Message: "1 of 56: gpu5->gpu6 238 GB/s"}}, bad: func(a, b int) bool { return a == 5 && b == 6 }},
			[]string{"pair gpu5-gpu6 2 0"},
			"",
		},
		"the driver": {
			run{gpus: 0, more: []report.Spec{
				{ID: "inventory/driver-match", Verdict: verdict.Fail, Code: "driver-missing", Message: "no driver"},
				blocked(report.Spec{ID: "inventory/cuda-init"}, "inventory/driver-match"),
			}},
			[]string{"node inventory/driver-match: driver-missing 1 1"},
			"",
		},
		"the run stopped": {
			run{gpus: 2, more: []report.Spec{{ID: "health/xid[gpu0]", Verdict: verdict.Error, Code: verdict.NotRun, Subject: &report.Subject{GPU: "gpu0"}}}},
			[]string{"run 0 1"},
			"",
		},
		"blocked in a circle": {
			run{gpus: 2, more: []report.Spec{blocked(report.Spec{ID: "a/b"}, "c/d"), blocked(report.Spec{ID: "c/d"}, "a/b")}},
			[]string{"node blocked by what did not fail in this run 0 2"},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := tt.run.results()
			all := report.Findings(r)
			var got []string
			seen := map[string]bool{}
			for _, f := range all {
				got = append(got, brief(f))
				for _, s := range append(f.Specs, f.Blocked...) {
					seen[s.ID] = true
				}
				if f.Title == "" || f.Why == "" || f.Do == "" {
					t.Errorf("%s: title %q, why %q, do %q", brief(f), f.Title, f.Why, f.Do)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if len(all) > 0 && !strings.Contains(all[0].Why, tt.why) {
				t.Errorf("why: %s; want: %s", all[0].Why, tt.why)
			}
			for i := range r.Specs {
				if s := &r.Specs[i]; (s.Verdict == verdict.Fail || s.Verdict == verdict.Error) && !seen[s.ID] {
					t.Errorf("%s is in no finding", s.ID)
				}
			}
		})
	}
}

func brief(f report.Finding) string {
	words := []string{[...]string{report.OfNode: "node", report.OfPaths: "paths", report.OfGPU: "gpu", report.OfPair: "pair", report.OfRun: "run"}[f.Scope]}
	switch {
	case f.Scope == report.OfNode:
		words = append(words, f.Title)
	case f.Scope == report.OfPaths:
		words = append(words, f.Class)
	case len(f.Slots) > 0:
		words = append(words, strings.Join(f.Slots, "-"))
	}
	return strings.Join(append(words, fmt.Sprint(len(f.Specs)), fmt.Sprint(len(f.Blocked))), " ")
}

func TestParts(t *testing.T) {
	r := run{gpus: 2, gone: []int{1}}.results()
	r.Node.GPUs[1].Above = []topology.Bridge{{BusID: "0000:15:01.0"}, {BusID: "0000:16:00.0"}}
	f := report.Finding{Scope: report.OfGPU, Slots: []string{"gpu1"}}
	want := []report.Part{{
		Slot: "gpu1", Model: "NVIDIA H200", BusID: "0000:19:00.0", Serial: "1650001", UUID: "GPU-00000001",
		Under: "0000:16:00.0", Absent: "listed by PCI, not by NVML or CUDA",
	}}
	if d := cmp.Diff(want, f.Parts(r)); d != "" {
		t.Error(d)
	}
	f.Slots = []string{"gpu9"}
	if d := cmp.Diff([]report.Part{{Slot: "gpu9", NUMA: -1}}, f.Parts(r)); d != "" {
		t.Error(d)
	}
}
