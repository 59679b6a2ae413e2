package runner

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
)

// keepOutput is how many bytes of a child's output are kept from its
// beginning, and as many from its end: a Go crash says what it is in its first
// line, a C library in its last.
const keepOutput = 8 << 10

// output keeps the beginning and the end of what a child wrote.
type output struct {
	mu      sync.Mutex // guards everything below
	head    []byte
	tail    []byte // at most twice keepOutput
	dropped int
}

// Write takes all of p.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(p)
	if room := keepOutput - len(o.head); room > 0 {
		take := min(room, len(p))
		o.head = append(o.head, p[:take]...)
		p = p[take:]
	}
	if len(p) > keepOutput {
		o.dropped += len(p) - keepOutput
		p = p[len(p)-keepOutput:]
	}
	o.tail = append(o.tail, p...)
	if len(o.tail) > 2*keepOutput {
		o.dropped += o.shorten()
	}
	return n, nil
}

// shorten cuts the tail to keepOutput and says by how much.
func (o *output) shorten() int {
	over := max(0, len(o.tail)-keepOutput)
	o.tail = append(o.tail[:0], o.tail[over:]...)
	return over
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropped += o.shorten()
	text := string(o.head)
	if o.dropped > 0 {
		text += fmt.Sprintf("\n[… %d bytes left out …]\n", o.dropped)
	}
	return strings.ToValidUTF8(text+string(o.tail), "\uFFFD")
}

// goSignal finds the signal that the Go runtime reports of a crash: a fault in
// C code ends a Go program with exit status 2, not with the signal.
var goSignal = regexp.MustCompile(`(?m)^(?:\[signal )?(SIG[A-Z0-9]+): `)

// crashSignal is the signal that a crashed child's output names, or "".
func crashSignal(stderr string) string {
	if m := goSignal.FindStringSubmatch(stderr); m != nil {
		return m[1]
	}
	return ""
}

// crashLine is the line of a crashed child's output that says most: the Go
// runtime's own complaint, else the last line.
func crashLine(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || goSignal.MatchString(line) {
			return line
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}

// copyOutput reads a pipe until its end, or until a deadline set on it.
func copyOutput(to *output, from *os.File, done *sync.WaitGroup) {
	defer done.Done()
	buf := make([]byte, 4<<10)
	for {
		n, err := from.Read(buf)
		_, _ = to.Write(buf[:n]) // it never fails
		if err != nil {
			return
		}
	}
}
