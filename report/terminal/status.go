package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/peerproof/peerproof/internal/words"
	"github.com/peerproof/peerproof/report"
)

// barWidth is how many characters a bar has between its brackets, and
// barColumns how wide a terminal must be to have one.
const (
	barWidth   = 8
	barColumns = 60
)

// bar is how much of a whole is done. Only a whole that is done fills it.
func bar(done, total int) string {
	filled := 0
	if total > 0 {
		filled = min(barWidth, done*barWidth/total)
	}
	return "[" + strings.Repeat("#", filled) + strings.Repeat(".", barWidth-filled) + "]"
}

// line is where the run stands.
func (p *Progress) line() string {
	var parts []string
	if p.total > 0 {
		if p.o.TTY && p.o.width() >= barColumns {
			parts = append(parts, bar(p.counts.Total(), p.total)+fmt.Sprintf(" %d/%d", p.counts.Total(), p.total))
		} else {
			parts = append(parts, fmt.Sprintf("[%d/%d]", p.counts.Total(), p.total))
		}
	}
	if p.counts.Fail > 0 {
		parts = append(parts, itoa(p.counts.Fail)+" failed")
	}
	if p.counts.Error > 0 {
		parts = append(parts, words.Count(p.counts.Error, "error", "errors"))
	}
	elapsed := clock(p.now().Sub(p.started))
	if d, known := p.left(); known {
		elapsed += ", " + leftText(d)
	}
	parts = append(parts, elapsed)
	s := p.running[p.newest]
	if s == nil { // the newest one has ended; show the one that runs longest
		for id, r := range p.running {
			if s == nil || r.began.Before(s.began) {
				p.newest, s = id, r
			}
		}
	}
	if s == nil {
		return strings.Join(append(parts, report.Line(p.doing)), "  ")
	}
	now := report.Line(p.newest)
	if s.step != "" {
		now += ": " + report.Line(s.step)
	}
	if ran := p.now().Sub(s.began); ran >= slowSpec {
		now += fmt.Sprintf(" (%.0f s)", ran.Seconds())
	}
	return strings.Join(append(parts, now), "  ")
}

// left is the estimate of the time that the run still takes.
func (p *Progress) left() (time.Duration, bool) {
	if p.ran == 0 || p.counts.Total() >= p.total {
		return 0, false
	}
	running := make([]runningSpec, 0, len(p.running))
	for id, r := range p.running {
		s := report.Spec{ID: id}
		running = append(running, runningSpec{s.Check(), p.now().Sub(r.began)})
	}
	return left(p.checks, running, pace{p.ran, p.ranSeconds, p.now().Sub(p.firstBegan)})
}

// clock is a duration as m:ss.
func clock(d time.Duration) string {
	s := int(d.Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
