package sim

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// kernelLog is the kernel log of the simulated host, as far as this process
// wrote it.
type kernelLog struct {
	mu      sync.Mutex // guards readers
	readers []*logReader
	lines   int
}

// open follows the log from its end on.
func (l *kernelLog) open() (io.ReadCloser, error) {
	r := &logReader{more: make(chan struct{}, 1), closed: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readers = append(l.readers, r)
	return r, nil
}

// write adds a line in the form of /dev/kmsg: priority, number, microseconds.
func (l *kernelLog) write(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines++
	for _, r := range l.readers {
		r.add(fmt.Appendf(nil, "3,%d,%d,-;%s\n", l.lines, time.Now().UnixMicro(), text))
	}
}

// logReader is one open log.
type logReader struct {
	mu      sync.Mutex // guards text, shut and waiting
	text    []byte
	shut    bool
	waiting bool          // a Read waits for text
	more    chan struct{} // holds a token when there may be text
	closed  chan struct{}
}

func (r *logReader) add(line []byte) {
	r.mu.Lock()
	r.text = append(r.text, line...)
	r.mu.Unlock()
	select {
	case r.more <- struct{}{}:
	default: // the reader will look anyway
	}
}

// Read waits for the next lines. Close ends the wait with fs.ErrClosed.
func (r *logReader) Read(b []byte) (int, error) {
	for {
		r.mu.Lock()
		n := copy(b, r.text)
		r.text = r.text[n:]
		shut := r.shut
		r.waiting = n == 0 && len(b) > 0 && !shut
		r.mu.Unlock()
		switch {
		case shut:
			return 0, fmt.Errorf("kernel log: %w", fs.ErrClosed)
		case n > 0 || len(b) == 0:
			return n, nil
		}
		select {
		case <-r.more:
		case <-r.closed:
		}
	}
}

// Idle says that all text was read, and that whoever read it is done with it:
// the next Read waits already.
func (r *logReader) Idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shut || r.waiting && len(r.text) == 0
}

func (r *logReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.shut {
		r.shut = true
		close(r.closed)
	}
	return nil
}

// xid is what the driver does when a GPU reports an error: a line in the
// kernel log and an NVML event.
func (p *process) xid(g *gpu, code int, text string) {
	if text == "" {
		text = "simulated"
	}
	p.log.write(fmt.Sprintf("NVRM: Xid (PCI:%04x:%02x:00): %d, pid=%d, name=peerproof, %s",
		g.place.domain, g.place.number, code, os.Getpid(), text))
	for _, set := range p.events {
		set.report(g, nvml.EventTypeXidCriticalError, uint64(code))
	}
}
