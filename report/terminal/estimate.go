package terminal

import (
	"fmt"
	"time"
)

// An estimate is shown once so much is known: before that it would be a guess.
const (
	knownSpecs = 3               // that ran
	knownTime  = 2 * time.Second // since the first of them began
)

// maxLeft bounds an estimate: more than this only means "long".
const maxLeft = 1000 * time.Hour

// pace is what a run has shown of its speed so far. Its own overhead (children
// that start, specs that run side by side) is in the ratio of wall-clock time
// to the time of specs.
type pace struct {
	ran     int           // specs that ran to their end since this process began
	seconds float64       // theirs together
	wall    time.Duration // since the first of them began
}

// left estimates how long the rest of a plan takes: for each check its
// remaining specs at the mean of those that have ended, or at the mean of the
// whole run where none has. overdue is how long those that run now have run.
// It is never negative, and unknown (false) where too little has been seen.
func left(checks map[string]*checkProgress, running []runningSpec, p pace) (time.Duration, bool) {
	if p.ran < knownSpecs || p.wall < knownTime || p.seconds <= 0 {
		return 0, false
	}
	ended, seconds := 0, 0.0
	for _, c := range checks {
		ended += c.counts.Total()
		seconds += c.seconds
	}
	mean := func(c *checkProgress) float64 {
		if n := c.counts.Total(); n > 0 {
			return c.seconds / float64(n)
		}
		return seconds / float64(max(1, ended))
	}
	rest := 0.0
	for _, c := range checks {
		rest += float64(max(0, c.total-c.counts.Total())) * mean(c)
	}
	for _, r := range running { // what they have done is no longer left
		if c := checks[r.check]; c != nil {
			rest -= min(r.ran.Seconds(), mean(c))
		}
	}
	return time.Duration(min(max(0, rest)*p.wall.Seconds()/p.seconds, maxLeft.Seconds()) * float64(time.Second)), true
}

// runningSpec is a spec that has begun, of a check, and how long ago.
type runningSpec struct {
	check string
	ran   time.Duration
}

// leftText rounds an estimate to what it is worth.
func leftText(d time.Duration) string {
	switch {
	case d < 5*time.Second:
		return "<5 s left"
	case d < time.Minute:
		return fmt.Sprintf("~%d s left", int(d.Round(5*time.Second).Seconds()))
	case d < 10*time.Minute:
		return "~" + clock(d.Round(10*time.Second)) + " left"
	default:
		return fmt.Sprintf("~%d min left", int(d.Round(time.Minute).Minutes()))
	}
}
