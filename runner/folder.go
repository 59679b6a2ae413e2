package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/peerproof/peerproof/internal/files"
	"github.com/peerproof/peerproof/runner/journal"
)

// createFolder makes the folder of a new run. It appears under its name with
// the first line of its journal in it, or not at all. What exists already is
// left alone, and the error is then fs.ErrExist. It returns the first event as
// it was written.
func createFolder(path string, first journal.Event) (w *journal.Writer, written journal.Event, err error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, first, fs.ErrExist
	}
	parent := filepath.Dir(filepath.Clean(path))
	hidden, err := os.MkdirTemp(parent, "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, first, fmt.Errorf("no folder can be made in %s: %w; expected a folder that can be written to", parent, files.Cause(err))
	}
	err = os.Chmod(hidden, 0o755)
	if err == nil {
		w, err = journal.Create(filepath.Join(hidden, JournalFile))
	}
	if err == nil {
		if written, err = w.Append(first); err == nil {
			err = w.Sync()
		}
	}
	if err == nil {
		err = appear(hidden, path)
	}
	if err == nil {
		return w, written, nil
	}
	if w != nil {
		err = errors.Join(err, w.Close())
	}
	_ = os.RemoveAll(hidden) // the error that matters is the first
	return nil, first, files.Cause(err)
}

// appear gives a folder its name, which nobody may have taken meanwhile.
func appear(hidden, path string) error {
	err := unix.Renameat2(unix.AT_FDCWD, hidden, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		// Network file systems lack the flag. Between look and rename only an
		// empty folder could be replaced.
		if _, err := os.Lstat(path); err == nil {
			return fs.ErrExist
		}
		return os.Rename(hidden, path)
	}
	return err
}
