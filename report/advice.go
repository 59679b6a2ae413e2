package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/peerproof/peerproof/fixtures/verdict"
)

// advice is the step to begin with. It prefers the hint of the first spec that
// has one: the plan goes from the parts to what is made of them. A hint that
// asks for a comparison which the finding has made is left out, and where pairs
// alone tell which part is wrong, a test by exchange settles it.
func advice(one *Finding) string {
	switch one.Scope {
	case OfGPU:
		return adviceGPU(one)
	case OfPair:
		return advicePair(one)
	case OfNode, OfPaths, OfRun:
	}
	return cmp.Or(hintOf(one.Specs, func(*Spec) bool { return true }), "begin with the first of its failures")
}

func adviceGPU(one *Finding) string {
	own := func(s *Spec) bool { return s.Subject != nil && len(s.Subject.Slots()) == 1 && !compares(s.Hint) }
	if hint := hintOf(one.Specs, own); hint != "" {
		return hint
	}
	hint := hintOf(one.Specs, func(s *Spec) bool { return s.Subject == nil && s.Code == "missing-gpu" })
	if hint != "" {
		return hint
	}
	if slices.ContainsFunc(one.Specs, func(s *Spec) bool { return own(s) && s.Hint == "" }) {
		return "begin with the first of its failures"
	}
	slot := one.Slots[0]
	hint = hintOf(one.Specs, func(s *Spec) bool { return s.Subject != nil })
	if hint == "" || compares(hint) {
		return "take " + slot + " out of service; then " + exchange(slot)
	}
	return hint + ". Then " + exchange(slot)
}

func advicePair(one *Finding) string {
	from, to := one.Slots[0], one.Slots[1]
	for _, s := range one.Specs {
		if s.Subject != nil && s.Subject.From != "" && strings.Contains(s.ID, "->") {
			from, to = s.Subject.From, s.Subject.To
			break
		}
	}
	switch hint := hintOf(one.Specs, func(*Spec) bool { return true }); {
	case strings.HasPrefix(hint, verdict.SuspectPath):
		return "do not use " + from + "->" + to + " until it passes; " + exchange(from)
	case hint == "" || compares(hint):
		return exchange(from)
	default:
		return hint + ". Then " + exchange(from)
	}
}

// compares says that a hint asks for what a finding has done.
func compares(hint string) bool {
	return strings.HasPrefix(hint, verdict.SuspectPath) || strings.HasPrefix(hint, verdict.SlowPath)
}

// hintOf is the first hint of such specs, "" for none.
func hintOf(specs []*Spec, of func(*Spec) bool) string {
	for _, s := range specs {
		if s.Hint != "" && of(s) {
			return s.Hint
		}
	}
	return ""
}

// exchange is the test that tells a GPU from its place.
func exchange(slot string) string {
	return "exchange " + slot + " with a GPU of another slot and run again: what fails with the GPU is the GPU, what stays is its slot, link or switch"
}
