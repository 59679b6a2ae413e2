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
// refused and left alone. It returns the first event as it was written.
func createFolder(path string, first journal.Event) (*journal.Writer, journal.Event, error) {
	refuse := func(why string) (*journal.Writer, journal.Event, error) {
		return nil, first, fmt.Errorf("--out %s: %s", path, why)
	}
	if _, err := os.Lstat(path); err == nil {
		return refuse("exists already; expected the name of a folder to make")
	}
	parent := filepath.Dir(filepath.Clean(path))
	hidden, err := os.MkdirTemp(parent, "."+filepath.Base(path)+".*")
	if err != nil {
		return refuse(fmt.Sprintf("no folder can be made in %s: %s; expected a folder that can be written to", parent, files.Cause(err).Error()))
	}
	var w *journal.Writer
	err = os.Chmod(hidden, 0o755)
	if err == nil {
		w, err = journal.Create(filepath.Join(hidden, JournalFile))
	}
	if err == nil {
		if first, err = w.Append(first); err == nil {
			err = w.Sync()
		}
	}
	if err == nil {
		err = appear(hidden, path)
	}
	if err == nil {
		return w, first, nil
	}
	if w != nil {
		err = errors.Join(err, w.Close())
	}
	_ = os.RemoveAll(hidden) // the error that matters is the first
	return refuse(files.Cause(err).Error())
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
