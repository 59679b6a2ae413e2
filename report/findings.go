package report

import (
	"slices"
	"strings"

	"github.com/peerproof/peerproof/fixtures/verdict"
)

// Scope is what a finding points at.
type Scope uint8

// The scopes, from the whole node down to two GPUs.
const (
	OfNode  Scope = iota // the node: driver, fabric, settings, or nothing narrower
	OfPaths              // what all paths of one class share
	OfGPU                // one GPU, with its slot and links
	OfPair               // what lies between two GPUs
	OfRun                // the run itself: it stopped before these specs
)

// Finding is failures and errors that probably have one cause.
type Finding struct {
	Scope Scope
	Slots []string // OfGPU: one; OfPair: two, lower first; else none
	Class string   // OfPaths: the path class
	// Title says what is wrong in a few words, Why how that is known, and Do
	// what to look at first. They hold text of the node as it is: clean it
	// where it is shown.
	Title, Why, Do string
	// Specs failed or erred by themselves, in order of the plan. A spec that
	// names several parts stands in the finding of each.
	Specs []*Spec
	// Blocked could not be decided because of Specs.
	Blocked []*Spec
}

// Findings groups what failed and erred by its probable root, the one that
// explains most first. Every spec that failed or erred stands in at least one
// finding. A GPU is named where its own specs fail, or where it is in failing
// pairs with at least two partners and half of those it was tested with; a path
// class where at least four of five of its pairs fail and no GPU is in all of
// them; else the pair alone.
func Findings(r *Results) []Finding {
	f := finder{r: r, known: map[string]*Finding{}, of: map[string][]*Finding{}}
	f.survey()
	f.gpus()
	f.blamePairs()
	f.node()
	f.follow()
	for _, one := range f.all {
		f.explain(one)
	}
	rank := func(one *Finding) int { return f.rank(one) }
	slices.SortStableFunc(f.all, func(a, b *Finding) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		return (len(b.Specs) + len(b.Blocked)) - (len(a.Specs) + len(a.Blocked))
	})
	findings := make([]Finding, len(f.all))
	for i, one := range f.all {
		findings[i] = *one
	}
	return findings
}

// finder sorts the specs of a run.
type finder struct {
	r     *Results
	all   []*Finding
	known map[string]*Finding   // by kind and subject
	of    map[string][]*Finding // by spec id
	nodes []*Spec               // that failed and have no subject
	owned map[string][]*Spec    // that failed and are about one GPU, by slot
	last  []*Spec               // that follow from others
	pairs pairs
	// decided is how many GPUs a check had a verdict of its own for.
	decided map[string]int
}

func bad(s *Spec) bool { return s.Verdict == verdict.Fail || s.Verdict == verdict.Error }

// survey takes every spec once.
func (f *finder) survey() {
	f.owned, f.decided = map[string][]*Spec{}, map[string]int{}
	f.pairs = pairs{tested: map[pair]bool{}, failing: map[pair][]*Spec{}, class: map[pair]string{}}
	for i := range f.r.Specs {
		s := &f.r.Specs[i]
		if bad(s) && Follows(s.Code) {
			f.last = append(f.last, s)
			continue
		}
		if s.Verdict == verdict.Skip {
			continue
		}
		switch {
		case s.Subject == nil:
			if bad(s) {
				f.nodes = append(f.nodes, s)
			}
		case s.Subject.GPU != "":
			f.decided[s.Check()]++
			if bad(s) {
				f.owned[s.Subject.GPU] = append(f.owned[s.Subject.GPU], s)
			}
		case s.Subject.From == s.Subject.To: // loopback
			if bad(s) {
				f.owned[s.Subject.From] = append(f.owned[s.Subject.From], s)
			}
		default:
			f.pairs.add(s)
		}
	}
}

// finding is the one of a scope and subject, made where there is none yet.
func (f *finder) finding(scope Scope, key string, slots ...string) *Finding {
	key = string(rune('a'+scope)) + key + strings.Join(slots, "-")
	if f.known[key] == nil {
		f.known[key] = &Finding{Scope: scope, Slots: slots}
		f.all = append(f.all, f.known[key])
	}
	return f.known[key]
}

// has is the finding of a GPU, nil where there is none.
func (f *finder) has(slot string) *Finding { return f.known[string(rune('a'+OfGPU))+slot] }

func (f *finder) put(one *Finding, specs ...*Spec) {
	for _, s := range specs {
		one.Specs = append(one.Specs, s)
		f.of[s.ID] = append(f.of[s.ID], one)
	}
}

// gpus makes the findings of single GPUs. What fails on each of at least three
// GPUs, and on all that the check could judge, is the node's.
func (f *finder) gpus() {
	count := map[[2]string]int{}
	for _, specs := range f.owned {
		for _, s := range specs {
			count[[2]string{s.Check(), s.Code}]++
		}
	}
	for i := range f.r.Specs {
		s := &f.r.Specs[i]
		if !bad(s) || Follows(s.Code) || s.Subject == nil {
			continue
		}
		slots := s.Subject.Slots()
		if len(slots) != 1 {
			continue
		}
		if n := count[[2]string{s.Check(), s.Code}]; n >= 3 && n == f.decided[s.Check()] {
			f.put(f.finding(OfNode, "every "+s.Check()+" "+s.Code), s)
			continue
		}
		f.put(f.finding(OfGPU, "", slots[0]), s)
	}
}

// node sorts the failures of checks of the whole node: to the GPU or the pair
// that alone is named in the message, else each stands for itself.
func (f *finder) node() {
	for _, s := range f.nodes {
		named := naming(s.Message)
		switch {
		case s.Code == "missing-gpu" && len(named.slots) > 0:
			for _, slot := range named.slots {
				f.put(f.finding(OfGPU, "", slot), s)
			}
		case len(named.pairs) == 1:
			p := named.pairs[0]
			if one := f.pairs.cause[p]; one != nil {
				f.put(one, s)
			} else {
				f.put(f.finding(OfPair, "", p.a, p.b), s)
			}
		case len(named.pairs) > 1:
			if one := f.sameCause(named.pairs); one != nil {
				f.put(one, s)
			} else {
				f.put(f.finding(OfNode, s.ID), s)
			}
		case len(named.slots) == 1:
			f.put(f.finding(OfGPU, "", named.slots[0]), s)
		default:
			f.put(f.finding(OfNode, s.ID), s)
		}
	}
}

// sameCause is the finding that all of these pairs belong to, or nil.
func (f *finder) sameCause(all []pair) *Finding {
	one := f.pairs.cause[all[0]]
	for _, p := range all[1:] {
		if f.pairs.cause[p] != one {
			return nil
		}
	}
	return one
}

// follow puts what was blocked beneath the finding that blocked it.
func (f *finder) follow() {
	blocked := map[string]string{} // id: what it names as its cause
	for _, s := range f.last {
		if cause := causeOf(s.Message); cause != "" {
			blocked[s.ID] = cause
		}
	}
	for _, s := range f.last {
		one := f.root(s, blocked)
		if one == nil {
			scope := OfNode
			if s.Code == verdict.NotRun {
				scope = OfRun
			}
			one = f.finding(scope, s.Code)
		}
		one.Blocked = append(one.Blocked, s)
	}
}

// root is the finding that a spec follows from, nil where none is known.
func (f *finder) root(s *Spec, blocked map[string]string) *Finding {
	slots := s.Subject.Slots()
	id := blocked[s.ID]
	for range 8 { // chains are short; a loop would be endless
		if found := f.of[id]; len(found) > 0 {
			for _, one := range found {
				for _, slot := range slots {
					if slices.Contains(one.Slots, slot) {
						return one
					}
				}
			}
			return found[0]
		}
		if blocked[id] == "" {
			break
		}
		id = blocked[id]
	}
	for _, slot := range slots {
		if one := f.has(slot); one != nil {
			return one
		}
	}
	return nil
}

// causeOf reads "blocked by inventory/context[gpu0]: context-failed".
func causeOf(message string) string {
	rest, ok := strings.CutPrefix(message, "blocked by ")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, ":, \n"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// rank orders findings: what failed before what only erred, hardware before
// settings, a run that stopped last.
func (f *finder) rank(one *Finding) int {
	rank := 0
	if one.Scope == OfRun {
		return 100
	}
	failed, hardware := false, f.absent(one)
	for _, s := range one.Specs {
		failed = failed || s.Verdict == verdict.Fail
		hardware = hardware || s.Area() != "inventory" || s.Code == verdict.ContextFailed || len(one.Blocked) > 0
	}
	if !failed {
		rank += 2
	}
	if !hardware {
		rank++
	}
	return rank
}
