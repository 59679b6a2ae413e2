package report

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
)

// pair is two GPUs without a direction, the lower slot first.
type pair struct{ a, b string }

func pairOf(from, to string) pair {
	if compareSlots(from, to) > 0 {
		from, to = to, from
	}
	return pair{from, to}
}

// compareSlots orders gpu2 before gpu10.
func compareSlots(a, b string) int {
	i, ok := slot(a)
	j, also := slot(b)
	if !ok || !also {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(i, j)
}

// pairs is what was tested between two GPUs.
type pairs struct {
	tested  map[pair]bool
	failing map[pair][]*Spec
	class   map[pair]string
	order   []pair            // failing ones, as the plan has them
	cause   map[pair]*Finding // of failing ones
}

func (p *pairs) add(s *Spec) {
	of := pairOf(s.Subject.From, s.Subject.To)
	p.tested[of], p.class[of] = true, s.Path
	if bad(s) {
		if p.failing[of] == nil {
			p.order = append(p.order, of)
		}
		p.failing[of] = append(p.failing[of], s)
	}
}

// blamePairs finds for each failing pair what probably is at fault.
func (f *finder) blamePairs() {
	f.pairs.cause = map[pair]*Finding{}
	f.blameClasses()
	for f.blameGPU() {
	}
	for _, p := range f.pairs.order {
		if f.pairs.cause[p] != nil {
			continue
		}
		a, b := f.seed(p.a), f.seed(p.b)
		switch {
		case a != nil && b == nil:
			f.blame(p, a)
		case b != nil && a == nil:
			f.blame(p, b)
		default:
			one := f.finding(OfPair, "", p.a, p.b)
			f.blame(p, one)
			f.join(one, a, b)
		}
	}
}

func (f *finder) blame(p pair, one *Finding) {
	f.pairs.cause[p] = one
	f.put(one, f.pairs.failing[p]...)
}

// seed is the finding of a GPU of which more than a setting is wrong.
func (f *finder) seed(slot string) *Finding {
	one := f.has(slot)
	if one == nil {
		return nil
	}
	for _, s := range one.Specs {
		if s.Area() != "inventory" || s.Code == verdict.ContextFailed {
			return one
		}
	}
	return nil
}

// join moves the failures of two GPUs' links to the pair, where that is all
// that is wrong with either: the bridge between them.
func (f *finder) join(one, a, b *Finding) {
	if a == nil || b == nil {
		return
	}
	for _, gpu := range []*Finding{a, b} {
		for _, s := range gpu.Specs {
			if s.Area() != "link" || s.Subject == nil || s.Subject.GPU == "" {
				return
			}
		}
	}
	for _, gpu := range []*Finding{a, b} {
		for _, s := range gpu.Specs {
			f.of[s.ID] = nil
			f.put(one, s)
		}
		f.all = slices.DeleteFunc(f.all, func(other *Finding) bool { return other == gpu })
		delete(f.known, string(rune('a'+OfGPU))+gpu.Slots[0])
	}
}

// blameClasses blames what the paths of one class share, where nearly all of
// them fail and no GPU is in all of those.
func (f *finder) blameClasses() {
	tested, failing := map[string]int{}, map[string][]pair{}
	for p := range f.pairs.tested {
		tested[f.pairs.class[p]]++
	}
	for _, p := range f.pairs.order {
		class := f.pairs.class[p]
		failing[class] = append(failing[class], p)
	}
	whole := len(f.pairs.order) == len(f.pairs.tested) && len(f.pairs.order) >= 3 && !oneInAll(f.pairs.order)
	for _, p := range f.pairs.order {
		class := f.pairs.class[p]
		switch {
		case whole:
			f.blame(p, f.finding(OfNode, "every pair"))
		case class != "" && len(failing[class]) >= 3 && 5*len(failing[class]) >= 4*tested[class] && !oneInAll(failing[class]):
			one := f.finding(OfPaths, class)
			one.Class = class
			f.blame(p, one)
		}
	}
}

// oneInAll says that a GPU is in all of these pairs.
func oneInAll(all []pair) bool {
	in := func(slot string) bool {
		return !slices.ContainsFunc(all, func(p pair) bool { return p.a != slot && p.b != slot })
	}
	return in(all[0].a) || in(all[0].b)
}

// blameGPU blames the GPU that is in most of the pairs that are not explained
// yet; it says whether there was one.
func (f *finder) blameGPU() bool {
	partners, failing := map[string]int{}, map[string]int{}
	for p := range f.pairs.tested {
		partners[p.a]++
		partners[p.b]++
	}
	var slots []string
	for _, p := range f.pairs.order {
		if f.pairs.cause[p] != nil {
			continue
		}
		for _, slot := range []string{p.a, p.b} {
			if failing[slot] == 0 {
				slots = append(slots, slot)
			}
			failing[slot]++
		}
	}
	worst := ""
	for _, slot := range slots {
		if failing[slot] < 2 || 2*failing[slot] < partners[slot] {
			continue
		}
		if worst == "" || failing[slot] > failing[worst] ||
			failing[slot] == failing[worst] && f.seed(slot) != nil && f.seed(worst) == nil {
			worst = slot
		}
	}
	if worst == "" {
		return false
	}
	one := f.finding(OfGPU, "", worst)
	for _, p := range f.pairs.order {
		if f.pairs.cause[p] == nil && (p.a == worst || p.b == worst) {
			f.blame(p, one)
		}
	}
	return true
}

// absent says that the finding is about a GPU that is there no more, or that
// was never found.
func (f *finder) absent(one *Finding) bool {
	if one.Scope != OfGPU || f.r.Node == nil {
		return false
	}
	n, ok := slot(one.Slots[0])
	if !ok {
		return false
	}
	g := f.r.Node.BySlot(n)
	return g != nil && Absent(g) != ""
}

// Absent says why a slot's GPU cannot be used: "listed by PCI, not by NVML",
// or "" where it can.
func Absent(g *topology.GPU) string {
	switch {
	case g.Expected:
		return "counted by the profile, found by nobody"
	case g.Hung != "":
		return "did not answer " + g.Hung
	case g.Lost:
		return "lost: NVML says that it has fallen off the bus"
	case g.NVMLIndex < 0 && g.CUDAOrdinal < 0:
		return "listed by PCI, not by NVML or CUDA"
	case g.NVMLIndex < 0:
		return "not listed by NVML"
	case g.CUDAOrdinal < 0:
		return "not listed by CUDA"
	default:
		return ""
	}
}

// named is the GPUs and pairs that a text names, each once.
type named struct {
	slots []string
	pairs []pair
}

var (
	pairName = regexp.MustCompile(`\b(gpu[0-9]{1,6})->?(gpu[0-9]{1,6})\b`)
	slotName = regexp.MustCompile(`\bgpu[0-9]{1,6}\b`)
)

// naming finds the names in the beginning of a text.
func naming(text string) named {
	text = text[:min(len(text), 4096)]
	var n named
	for _, m := range pairName.FindAllStringSubmatch(text, -1) {
		if p := pairOf(m[1], m[2]); !slices.Contains(n.pairs, p) {
			n.pairs = append(n.pairs, p)
		}
	}
	for _, m := range slotName.FindAllString(text, -1) {
		if !slices.Contains(n.slots, m) {
			n.slots = append(n.slots, m)
		}
	}
	return n
}
