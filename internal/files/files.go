// Package files reads files that a user names. It waits for none of them: a pipe
// may never have a writer, and a device may never end.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrNotRegular says that a name is not that of a regular file.
var ErrNotRegular = errors.New("it is no regular file")

// Open opens a regular file for reading, as os.Open does. Anything else is
// ErrNotRegular.
func Open(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return regular(file)
}

// OpenIn is Open in a file system.
func OpenIn(fsys fs.FS, name string) (fs.File, error) {
	// A pipe is not opened: that would wait.
	if info, err := fs.Stat(fsys, name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	file, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	return regular(file)
}

// regular hands on an open file, and closes what is none.
func regular[F fs.File](file F) (F, error) {
	var none F
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		return none, errors.Join(err, file.Close())
	}
	return file, nil
}

// Read reads a regular file of at most so many bytes.
func Read(name string, limit int64) ([]byte, error) {
	file, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it has more than the %d bytes that it may have", limit)
	}
	return data, err
}

// Cause is an error of the file system without operation and path, for a text
// that names them already. Other errors are returned as they are.
func Cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
