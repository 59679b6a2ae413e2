package runner

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

// A goroutine that is about to end is given this long, in steps, before it is
// held to have outlived its spec. On a machine with more to do than processors
// the last steps of one took more than 50 ms.
const (
	leakPatience = 250 * time.Millisecond
	leakStep     = 5 * time.Millisecond
)

// leakWatch looks for goroutines that outlive their spec.
type leakWatch struct {
	// floor is the least number of goroutines that was seen between two nodes
	// of the tree. It saves the profile, which costs as much as a small spec:
	// where there are no more than that, none of them is a spec's.
	floor int
	looks int
}

// sureLooks is how many specs of a tree are looked at closely whatever the
// number of goroutines, until the floor can be trusted: a goroutine that just
// ends may have raised it.
const sureLooks = 16

// count takes note of the number of goroutines; it is called when no node of a
// spec runs, and says whether there are more than there should be.
func (l *leakWatch) count() (more bool) {
	n := runtime.NumGoroutine()
	if l.floor == 0 || n < l.floor {
		l.floor = n
	}
	return n > l.floor
}

// leaked names the function of a goroutine that a spec started and that still
// runs, or "". It is called when no node of a spec runs.
func (l *leakWatch) leaked() string {
	if l.looks++; l.looks > sureLooks {
		for tries := 0; l.count(); tries++ {
			if tries == 3 {
				return lingering()
			}
			runtime.Gosched() // Ginkgo's own, of the node before, is about to end
		}
		return ""
	}
	l.count()
	return lingering()
}

// lingering gives goroutines with a spec's label a moment to end, and names
// one that does not.
func lingering() string {
	for until := time.Now().Add(leakPatience); ; time.Sleep(leakStep) {
		name := labelled()
		if name == "" || time.Now().After(until) {
			return name
		}
	}
}

// specGoroutines are the stacks of the goroutines that carry a spec's label, as
// the runtime's profile writes them, or "".
func specGoroutines() string {
	var profile bytes.Buffer
	// Form 1 is text: per group of goroutines a line of addresses, their
	// labels, a line for each frame, an empty line.
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return "" // a buffer takes all
	}
	var ours []string
	for group := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(group, specLabel) && !ending(group) {
			ours = append(ours, group)
		}
	}
	return strings.Join(ours, "\n\n")
}

// ending says that goroutines have left their last function and are only in
// the runtime any more: they do nothing that could hurt. One that has not begun
// yet shows no frame at all.
func ending(group string) bool {
	frames := 0
	for line := range strings.SplitSeq(group, "\n") {
		function, _ := splitFrame(line)
		if function == "" {
			continue
		}
		if !strings.HasPrefix(function, "runtime.") {
			return false
		}
		frames++
	}
	return frames > 0
}

// labelled names the function with which the first goroutine that carries a
// spec's label began, or "" if none does.
func labelled() string {
	stacks := specGoroutines()
	if stacks == "" {
		return ""
	}
	first, _, _ := strings.Cut(stacks, "\n\n")
	name := ""
	for line := range strings.SplitSeq(first, "\n") {
		function, place := splitFrame(line)
		if function != "" && !slices.ContainsFunc(notTheSuites, func(prefix string) bool { return strings.HasPrefix(function, prefix) }) {
			name = fmt.Sprintf("goroutine %s (%s)", function, place) // the last one is where it began
		}
	}
	if name == "" {
		return "a goroutine: " + shorten(first, 1000)
	}
	return name
}

// notTheSuites are functions that say nothing to the author of a suite.
var notTheSuites = []string{"runtime.", "runtime/pprof.", "github.com/onsi/ginkgo/", "github.com/peerproof/peerproof/runner."}

// splitFrame is the function and the place of a line of a profile such as
//
//	#	0x4a1b2c	example/suite.watch.func1+0x1c	/src/suite/watch.go:12
//
// or nothing for another line.
func splitFrame(line string) (function, place string) {
	fields := strings.FieldsFunc(line, func(r rune) bool { return r == '\t' })
	if len(fields) < 4 || fields[0] != "#" {
		return "", ""
	}
	function, _, _ = strings.Cut(fields[2], "+0x")
	return function, strings.TrimSpace(fields[3])
}
