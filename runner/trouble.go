package runner

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
)

// A subject is given up after so many hangs or crashes of its own, and a GPU
// after hangs with so many different partners.
const (
	subjectLimit = 3
	partnerLimit = 3
)

// trouble keeps account of subjects that hung or crashed, of GPUs that are of
// no more use, and of requirements that others rest on and that are not met.
type trouble struct {
	count    map[fixtures.Subject]int // hangs and crashes
	partners map[int][]int            // by slot: with which other slots it hung
	givenUp  map[int]string           // by slot: why
	blockers []blocker
}

// blocker is a spec that did not pass and that others rest on.
type blocker struct {
	proves  fixtures.Need
	subject fixtures.Subject
	id      string
	code    string
}

func newTrouble() *trouble {
	return &trouble{count: map[fixtures.Subject]int{}, partners: map[int][]int{}, givenUp: map[int]string{}}
}

// hung takes note of a hang, and says what follows from it.
func (t *trouble) hung(s fixtures.Subject) (notes []string) {
	notes = t.crashed(s)
	if gpus := s.GPUs(); len(gpus) == 2 {
		for i, slot := range gpus {
			other := gpus[1-i]
			if !slices.Contains(t.partners[slot], other) {
				t.partners[slot] = append(t.partners[slot], other)
			}
			if len(t.partners[slot]) == partnerLimit {
				notes = append(notes, t.giveUp(slot, fmt.Sprintf("it hung with %d different partners", partnerLimit))...)
			}
		}
	}
	return notes
}

// crashed takes note of a crash, and says what follows from it.
func (t *trouble) crashed(s fixtures.Subject) (notes []string) {
	if s.Kind == fixtures.WholeNode {
		return nil // such a spec runs once; others of the node are not its kin
	}
	t.count[s]++
	if t.count[s] == subjectLimit {
		notes = append(notes, fmt.Sprintf("%s is given up after %d hangs or crashes", s, subjectLimit))
	}
	return notes
}

// giveUp ends all further use of a GPU.
func (t *trouble) giveUp(slot int, why string) (notes []string) {
	if _, already := t.givenUp[slot]; already {
		return nil
	}
	t.givenUp[slot] = why
	return []string{fmt.Sprintf("%s is given up: %s", topology.SlotName(slot), why)}
}

// unusable are the slots on which nothing should be run any more, and why.
func (t *trouble) unusable() map[int]string {
	slots := map[int]string{}
	for subject, n := range t.count {
		if gpus := subject.GPUs(); n >= subjectLimit && len(gpus) == 1 {
			slots[gpus[0]] = fmt.Sprintf("%d hangs or crashes of its own", n)
		}
	}
	maps.Copy(slots, t.givenUp)
	return slots
}

// lostGPU finds the GPU that an outcome of code gpu-lost is about.
var lostGPU = regexp.MustCompile(`\bgpu([0-9]+) is lost\b`)

// ended takes note of how a spec ended, and says what follows from it.
func (t *trouble) ended(s fixtures.Spec, o verdict.Outcome) (notes []string) {
	bad := o.Bad() // a waiver excuses it, and mends nothing
	if s.Check.Proves != 0 && bad {
		t.blockers = append(t.blockers, blocker{s.Check.Proves, s.Subject, s.ID(), o.Code})
	}
	if o.Code != verdict.GPULost || !bad {
		return nil
	}
	gpus := s.Subject.GPUs()
	if len(gpus) == 1 {
		return t.giveUp(gpus[0], "it is lost")
	}
	for _, m := range lostGPU.FindAllStringSubmatch(o.Message, -1) {
		if slot, err := strconv.Atoi(m[1]); err == nil && slices.Contains(gpus, slot) {
			notes = append(notes, t.giveUp(slot, "it is lost")...)
		}
	}
	return notes
}

// verdict is the outcome of a spec that there is no sense in running any more.
func (t *trouble) verdict(s fixtures.Spec) (verdict.Outcome, bool) {
	for _, b := range t.blockers { // a spec does not stand in its own way: it may be run again
		if s.Check.Needs&b.proves != 0 && b.concerns(s.Subject) && b.id != s.ID() {
			return verdict.Errorf(verdict.BlockedBy, "blocked by %s: %s", b.id, b.code), true
		}
	}
	if s.Check.Last { // it asks what became of those, too
		return verdict.Outcome{}, false
	}
	if s.Check.Needs&fixtures.CUDA != 0 { // what NVML still tells of it is evidence
		for _, slot := range s.Subject.GPUs() {
			if why, gone := t.givenUp[slot]; gone {
				return verdict.Errorf(verdict.NotRun, "%s was given up: %s", topology.SlotName(slot), why), true
			}
		}
	}
	if n := t.count[s.Subject]; n >= subjectLimit {
		return verdict.Errorf(verdict.NotRun, "%s was given up after %d hangs or crashes", s.Subject, n), true
	}
	return verdict.Outcome{}, false
}

// concerns says whether a spec of this subject rests on the blocker. Specs of
// the whole node go on with the GPUs that are left.
func (b blocker) concerns(s fixtures.Subject) bool {
	if b.subject.Kind == fixtures.WholeNode {
		return true
	}
	for _, slot := range b.subject.GPUs() {
		if slices.Contains(s.GPUs(), slot) {
			return true
		}
	}
	return false
}
