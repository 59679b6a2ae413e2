package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/peerproof/peerproof/internal/files"
)

// syncEvery is how often what was written is brought to the disk, so that a
// power cut costs a tenth of a second and an event costs no wait.
const syncEvery = 100 * time.Millisecond

// Writer appends events to one journal file, one write(2) an event. A file has
// one writer at a time: another Create or Resume of it fails with ErrInUse.
// Append and Sync may be called from several goroutines.
type Writer struct {
	file *os.File
	stop chan struct{}
	done chan struct{} // closed when the syncer has ended

	mu    sync.Mutex // guards the fields below, and the order of the lines
	line  bytes.Buffer
	chain chain
	dirty bool
	err   error // the first one; after it nothing more is written
}

// ErrInUse says that another process holds the journal open for writing.
var ErrInUse = errors.New("another run is writing this journal")

// Create makes a new journal file, which must not exist yet.
func Create(path string) (*Writer, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("create journal: %w", err)
	}
	return start(file, chain{})
}

// Resume opens a journal to go on with it: it calls fn for each event there
// is, as Scan does, and cuts off a torn last line. Errors are those of Scan
// (but for the torn line), of fn, and ErrInUse.
func Resume(path string, fn func(Event) error) (*Writer, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	w, err := resume(file, fn)
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}

func resume(file *os.File, fn func(Event) error) (*Writer, error) {
	if err := lock(file); err != nil {
		return nil, err
	}
	var c chain
	err := c.scan(file, fn)
	var torn *TornError
	if errors.As(err, &torn) {
		err = file.Truncate(torn.Offset)
	}
	if err != nil {
		return nil, err
	}
	return start(file, c)
}

func start(file *os.File, c chain) (*Writer, error) {
	if err := lock(file); err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	w := &Writer{file: file, chain: c, stop: make(chan struct{}), done: make(chan struct{})}
	go w.syncer()
	return w, nil
}

// InUse says whether a process is writing the journal now. Where that cannot
// be found out, as on file systems without locks, it is false.
func InUse(file *os.File) bool {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN) // closing the file would do it too
	}
	return errors.Is(err, syscall.EWOULDBLOCK)
}

// lock takes the advisory lock of the file, which ends with the process.
func lock(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return ErrInUse
	case err != nil && !errors.Is(err, syscall.ENOTSUP) && !errors.Is(err, syscall.ENOLCK) && !errors.Is(err, syscall.ENOSYS):
		return fmt.Errorf("lock journal: %w", err)
	}
	// A file system without locks is no reason not to test the hardware.
	return nil
}

// Idle returns an error that wraps ErrInUse where a run is still writing the
// journal at path, and one of the file system where there is none.
func Idle(path string) error {
	file, err := files.Open(path)
	if err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read, and the lock ends with it
	if err := lock(file); errors.Is(err, ErrInUse) {
		return fmt.Errorf("%w; expected that of a run that has ended", err)
	}
	return nil // a file system without locks cannot tell
}

// Append writes one event and returns it as written: with its sequence number,
// the hash of the line before it, and the time where it had none.
func (w *Writer) Append(e Event) (Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return e, w.err
	}
	if e.Time.IsZero() {
		e.Time = time.Now().UTC()
	}
	if err := w.chain.encode(&w.line, &e); err != nil {
		return e, err
	}
	if _, err := w.file.Write(w.line.Bytes()); err != nil {
		w.err = fmt.Errorf("write journal: %w", files.Cause(err))
		return e, w.err
	}
	w.chain.add(w.line.Bytes()[:w.line.Len()-1])
	w.dirty = true
	return e, nil
}

// Sync brings all events to the disk before it returns.
func (w *Writer) Sync() error {
	w.mu.Lock()
	dirty, err := w.dirty, w.err
	w.dirty = false
	w.mu.Unlock()
	if err != nil || !dirty {
		return err
	}
	if err := w.file.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		w.mu.Lock()
		defer w.mu.Unlock()
		// A failed fsync may have dropped pages: a second one proves nothing.
		w.err = fmt.Errorf("sync journal: %w", files.Cause(err))
		return w.err
	}
	return nil
}

func (w *Writer) syncer() {
	defer close(w.done)
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
			w.Sync() //nolint:errcheck // kept in w.err, which the next Append returns
		}
	}
}

// Close syncs and closes the file. It returns the first error of the writer.
func (w *Writer) Close() error {
	close(w.stop)
	<-w.done
	return errors.Join(w.Sync(), w.file.Close())
}

var _ io.Closer = (*Writer)(nil)
