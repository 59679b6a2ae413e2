package runner

import (
	"bytes"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
)

// steps stands in for Ginkgo's terminal. Ginkgo prints a line the moment By is
// called, before the step begins; that is when the step, whose text the report
// holds, is told to the parent. All else that is printed is dropped.
type steps struct{ *grove }

func (s *steps) Write(p []byte) (int, error) {
	if !s.running || !bytes.Contains(p, []byte("STEP:")) || bytes.Contains(p, []byte("END STEP:")) {
		return len(p), nil
	}
	events := ginkgo.CurrentSpecReport().SpecEvents
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].SpecEventType == types.SpecEventByStart {
			s.say(message{Kind: msgStep, Spec: s.current, Text: events[i].Message})
			s.flush()
			break
		}
	}
	return len(p), nil
}
