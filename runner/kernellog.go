package runner

import (
	"bufio"
	"fmt"
	"io"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/fixtures/topology"
)

// logWatch follows the kernel log and hands on the Xids in it.
type logWatch struct {
	reader io.ReadCloser
	xids   chan topology.Xid
	done   chan struct{} // closed by close
}

// watchLog opens the kernel log at its end. The error says why it cannot be
// read.
func watchLog(host cuda.Host) (*logWatch, error) {
	if host.KernelLog == nil {
		return nil, fmt.Errorf("kernel log: there is none")
	}
	reader, err := host.KernelLog()
	if err != nil {
		return nil, err
	}
	w := &logWatch{reader: reader, xids: make(chan topology.Xid), done: make(chan struct{})}
	go w.follow()
	return w, nil
}

// follow reads lines until close. A line is a record of the kernel's, at most
// 8 KiB; what follows its first line is a dictionary, and no Xid.
func (w *logWatch) follow() {
	for lines := bufio.NewReaderSize(w.reader, 16<<10); ; {
		line, tooLong, err := lines.ReadLine()
		if err != nil {
			return
		}
		x, ok := topology.ParseXid(string(line))
		if !ok || tooLong {
			continue
		}
		select {
		case w.xids <- x:
		case <-w.done:
			return
		}
	}
}

// close ends the watch.
func (w *logWatch) close() {
	if w != nil {
		close(w.done)
		_ = w.reader.Close() // it was only read
	}
}

// seen is where Xids arrive; nil, which never has any, where nobody watches.
func (w *logWatch) seen() <-chan topology.Xid {
	if w == nil {
		return nil
	}
	return w.xids
}
