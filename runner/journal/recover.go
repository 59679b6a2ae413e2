package journal

import (
	"bufio"
	"io"
	"runtime"
)

// Recover is Scan for a reader that wants all that is left of a damaged
// journal: it calls broken for each line that does not fit, hands on the event
// in it if there is one, and goes on from there. It decodes on all processors,
// since the journal of a rack has half a million lines; fn and broken are
// called in order, from the caller's goroutine.
func Recover(r io.Reader, fn func(Event) error, broken func(*BrokenError)) error {
	stop := make(chan struct{})
	defer close(stop)
	var c chain
	at := 0
	for b := range decoded(r, stop) {
		<-b.done
		for i := range b.lines {
			at++
			l := &b.lines[i]
			if l.what == "" {
				l.what = c.fits(&l.event)
			}
			if l.what != "" {
				broken(&BrokenError{at, l.what})
			}
			if l.event.Type != "" {
				c.lines = l.event.Seq - 1 // the next line is held against this one
				if err := fn(l.event); err != nil {
					return err
				}
			}
			c.lines++
			c.prev = l.hash
		}
		if b.err != nil {
			return b.err
		}
	}
	return nil
}

// line is one line, decoded.
type line struct {
	event Event
	what  string // is wrong with it
	hash  string
}

// piece is some lines in a row. Its lines are set when done is closed; err is
// what ended the reading, after them.
type piece struct {
	lines []line
	err   error
	done  chan struct{}
}

// pieceLines is how many lines are decoded at a time.
const pieceLines = 256

// decoded reads lines and hands them on in pieces, in order, while others
// decode them. It stops at the end of the journal, or when stop is closed.
func decoded(r io.Reader, stop <-chan struct{}) <-chan *piece {
	ahead := make(chan *piece, runtime.GOMAXPROCS(0))
	go func() {
		defer close(ahead)
		in := bufio.NewReaderSize(r, 64<<10)
		var offset int64
		for at := 1; ; {
			b := &piece{done: make(chan struct{})}
			var raw [][]byte
			for len(raw) < pieceLines && b.err == nil {
				var text []byte
				if text, b.err = readLine(in, nil, at, offset); b.err == nil {
					raw = append(raw, text)
					offset += int64(len(text)) + 1
					at++
				}
			}
			end := b.err != nil
			if b.err == io.EOF { //nolint:errorlint // readLine returns it bare
				b.err = nil
			}
			go b.decode(raw)
			select {
			case ahead <- b:
			case <-stop:
				return
			}
			if end {
				return
			}
		}
	}()
	return ahead
}

func (b *piece) decode(raw [][]byte) {
	defer close(b.done)
	b.lines = make([]line, len(raw))
	for i, text := range raw {
		l := &b.lines[i]
		l.event, l.what = decode(text)
		l.hash = hash(text)
	}
}
