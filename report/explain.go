package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/internal/words"
)

// explain words a finding from what it holds and from what passed.
func (f *finder) explain(one *Finding) {
	codes := codesOf(one.Specs)
	switch one.Scope {
	case OfGPU:
		f.explainGPU(one, codes)
	case OfPair:
		f.explainPair(one, codes)
	case OfPaths:
		one.Title = fmt.Sprintf("every path of class %s: %s", one.Class, codes)
		failing, tested := f.count(func(p pair) bool { return f.pairs.class[p] == one.Class })
		one.Why = fmt.Sprintf("%d of the %d pairs over %s fail, and no GPU is in all of them; of the other pairs %s. So it is what these paths share, not one GPU.",
			failing, tested, one.Class, f.others(func(p pair) bool { return f.pairs.class[p] != one.Class }))
	case OfRun:
		one.Title, one.Do = "the run stopped before these specs", "go on with peerproof run --resume, or run them again"
		if f.r.Live {
			one.Title, one.Do = "these specs have had no turn yet", "wait for the end of the run"
		}
		one.Why = words.Count(len(one.Blocked), "spec has no verdict of its own.", "specs have no verdict of their own.")
	case OfNode:
		f.explainNode(one, codes)
	}
	if one.Do == "" {
		one.Do = advice(one)
	}
}

func (f *finder) explainGPU(one *Finding, codes string) {
	slot := one.Slots[0]
	one.Title = slot + ": " + codes
	if why := f.whyAbsent(slot); why != "" {
		one.Title = slot + " is missing: " + why
	}
	var why []string
	var own []string
	for _, s := range one.Specs {
		if len(s.Subject.Slots()) < 2 && !slices.Contains(own, s.Check()) {
			own = append(own, s.Check())
		}
	}
	if len(own) > 0 {
		why = append(why, "It fails by itself: "+list(own)+".")
	}
	with := func(p pair) bool { return p.a == slot || p.b == slot }
	if failing, tested := f.count(with); failing > 0 {
		all, _ := f.count(func(pair) bool { return true })
		text := fmt.Sprintf("It is in %d of the %d failing pairs, and %d of its %d tested pairs fail; of the pairs without it %s.",
			failing, all, failing, tested, f.others(func(p pair) bool { return !with(p) }))
		why = append(why, text)
		if d := direction(one.Specs, slot); d != "" {
			why = append(why, d)
		}
	}
	if n := len(one.Blocked); n > 0 {
		why = append(why, fmt.Sprintf("%s could not be decided because of it.", words.Count(n, "spec", "specs")))
	}
	one.Why = strings.Join(why, " ")
}

func (f *finder) explainPair(one *Finding, codes string) {
	a, b := one.Slots[0], one.Slots[1]
	one.Title = fmt.Sprintf("between %s and %s: %s", a, b, codes)
	this := func(p pair) bool { return p == pair{a, b} }
	touching := func(p pair) bool { return !this(p) && (p.a == a || p.b == a || p.a == b || p.b == b) }
	failing, tested := f.count(touching)
	var why []string
	switch {
	case tested == 0:
		why = append(why, "Neither was tested with another GPU, so that either, or what lies between them, can be at fault.")
	case failing == 0:
		why = append(why, fmt.Sprintf("All %d pairs of the two with other GPUs pass: it is more likely what lies between them than either GPU.", tested))
	case f.blamed(touching) == failing:
		why = append(why, fmt.Sprintf("Of their %d pairs with other GPUs %d pass, and what fails there has another cause: it is more likely what lies between them than either GPU.", tested, tested-failing))
	default:
		why = append(why, fmt.Sprintf("%d of their %d pairs with other GPUs pass.", tested-failing, tested))
	}
	if d := oneWay(one.Specs); d != "" {
		why = append(why, d)
	}
	one.Why = strings.Join(why, " ")
}

func (f *finder) explainNode(one *Finding, codes string) {
	switch subjects := subjectsOf(one.Specs); {
	case len(one.Specs) == 0:
		one.Title, one.Why = "blocked by what did not fail in this run", "The specs below name what blocks them."
	case subjects[0] == "":
		s := one.Specs[0]
		one.Title = s.Check() + ": " + codes
		one.Why = "The check is of the whole node, and its message names no single part."
	case strings.Contains(subjects[0], "-"):
		one.Title = "every pair: " + codes
		one.Why = fmt.Sprintf("All %d tested pairs fail: it is the driver, the fabric, a setting or the platform, not one GPU.", len(f.pairs.order))
	default:
		one.Title = "every GPU: " + codes
		one.Why = fmt.Sprintf("%s fails on all %d GPUs that it was tested on: it is a setting, the driver or the platform, not one GPU.", one.Specs[0].Check(), len(subjects))
	}
	if n := len(one.Blocked); n > 0 {
		one.Why += fmt.Sprintf(" %s could not be decided because of it.", words.Count(n, "spec", "specs"))
	}
}

// count is how many pairs of a kind fail, and how many were tested.
func (f *finder) count(of func(pair) bool) (failing, tested int) {
	for p := range f.pairs.tested {
		if of(p) {
			tested++
			if f.pairs.failing[p] != nil {
				failing++
			}
		}
	}
	return failing, tested
}

// blamed is how many failing pairs of a kind are explained by a GPU or by what
// all paths of their class share.
func (f *finder) blamed(of func(pair) bool) (n int) {
	for p, one := range f.pairs.cause {
		if of(p) && one.Scope != OfPair {
			n++
		}
	}
	return n
}

// others says how the pairs of a kind did: "all 21 pass".
func (f *finder) others(of func(pair) bool) string {
	switch failing, tested := f.count(of); {
	case tested == 0:
		return "none was tested"
	case failing == 0 && tested == 1:
		return "the only one passes"
	case failing == 0:
		return fmt.Sprintf("all %d pass", tested)
	default:
		return fmt.Sprintf("%d of %d pass", tested-failing, tested)
	}
}

func (f *finder) whyAbsent(name string) string {
	n, ok := slot(name)
	if !ok || f.r.Node == nil {
		return ""
	}
	if g := f.r.Node.BySlot(n); g != nil {
		return Absent(g)
	}
	return ""
}

// direction says that a GPU has the same part in all failing ordered pairs.
func direction(specs []*Spec, slot string) string {
	from, to := 0, 0
	for _, s := range specs {
		if s.Subject == nil || s.Subject.From == s.Subject.To || !strings.Contains(s.ID, "->") {
			continue
		}
		if s.Subject.From == slot {
			from++
		} else if s.Subject.To == slot {
			to++
		}
	}
	switch {
	case from >= 2 && to == 0:
		return "It fails only where its own engines do the work (" + slot + "->…)."
	case to >= 2 && from == 0:
		return "It fails only where others work on its memory (…->" + slot + ")."
	default:
		return ""
	}
}

// oneWay says that only one direction of a pair fails.
func oneWay(specs []*Spec) string {
	way := ""
	for _, s := range specs {
		if s.Subject == nil || s.Subject.From == "" || !strings.Contains(s.ID, "->") {
			continue
		}
		this := s.Subject.From + "->" + s.Subject.To
		if way != "" && way != this {
			return ""
		}
		way = this
	}
	if way == "" {
		return ""
	}
	return "Of the two directions only " + way + " fails."
}

// codesOf are the codes of specs, each once: "links-down, outlier".
func codesOf(specs []*Spec) string {
	var codes []string
	for _, s := range specs {
		if !slices.Contains(codes, s.Code) && s.Code != "" {
			codes = append(codes, s.Code)
		}
	}
	return list(codes)
}

// subjectsOf are the texts between the brackets, each once, in order.
func subjectsOf(specs []*Spec) []string {
	var all []string
	known := map[string]bool{}
	for _, s := range specs {
		text := ""
		if s.Subject != nil {
			text = strings.Join(s.Subject.Slots(), "-")
		}
		if !known[text] {
			known[text] = true
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		all = []string{""}
	}
	return all
}

// maxListed is how many names a sentence holds.
const maxListed = 5

func list(names []string) string {
	if len(names) > maxListed {
		return strings.Join(names[:maxListed], ", ") + fmt.Sprintf(" and %d more", len(names)-maxListed)
	}
	return strings.Join(names, ", ")
}

// Part is what identifies a slot's GPU to whoever has to find and exchange it.
type Part struct {
	Slot, Model, BusID, Serial, UUID string
	NUMA                             int    // -1: unknown
	Under                            string // bus id of the bridge that it is plugged into; "" unknown
	Absent                           string // why it cannot be used; "" where it can
}

// Parts are the GPUs that a finding points at.
func (one *Finding) Parts(r *Results) []Part {
	var parts []Part
	for _, name := range one.Slots {
		part := Part{Slot: name, NUMA: -1}
		if n, ok := slot(name); ok && r.Node != nil {
			if g := r.Node.BySlot(n); g != nil {
				part.Model, part.BusID, part.Serial, part.UUID, part.NUMA = g.Model, g.BusID, g.Serial, g.UUID, g.NUMA
				part.Absent, part.Under = Absent(g), under(g)
			}
		}
		parts = append(parts, part)
	}
	return parts
}

func under(g *topology.GPU) string {
	if n := len(g.Above); n > 0 {
		return g.Above[n-1].BusID
	}
	return ""
}
