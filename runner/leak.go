package runner

import (
	"bufio"
	"bytes"
	"runtime/pprof"
	"strings"
	"time"
)

// A goroutine that is about to end is given this long, in steps, before it is
// held to have outlived its spec.
const (
	leakPatience = 50 * time.Millisecond
	leakStep     = 5 * time.Millisecond
)

// leaked names the function of a goroutine that a spec started and that still
// runs, or "". It is called when no node of a spec runs.
func leaked() string {
	for until := time.Now().Add(leakPatience); ; time.Sleep(leakStep) {
		name := labelled()
		if name == "" || time.Now().After(until) {
			return name
		}
	}
}

// labelled names the function with which the first goroutine that carries a
// spec's label began, and where it is now.
func labelled() string {
	var profile bytes.Buffer
	// Form 1 is text: per group of goroutines a line of addresses, their
	// labels, a line for each frame, an empty line.
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return "" // a buffer takes all
	}
	if !bytes.Contains(profile.Bytes(), []byte(specLabel)) {
		return ""
	}
	name, inside := "a goroutine", false
	for lines := bufio.NewScanner(&profile); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "# labels:") && strings.Contains(line, specLabel):
			inside = true
		case inside && strings.HasPrefix(line, "#\t"):
			name = frame(line, name)
		case inside:
			return name
		}
	}
	return name
}

// frame is the function and place of a line such as
//
//	#	0x4a1b2c	example/suite.watch.func1+0x1c	/src/suite/watch.go:12
func frame(line, otherwise string) string {
	fields := strings.Split(line, "\t")
	if len(fields) < 4 {
		return otherwise
	}
	function, _, _ := strings.Cut(fields[2], "+0x")
	return "goroutine " + function + " (" + fields[3] + ")"
}
