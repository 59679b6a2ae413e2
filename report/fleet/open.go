package fleet

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/peerproof/peerproof/internal/files"
)

// open opens a file of a run's folder. Its errors name the file and say why it
// could not be read; they wrap fs.ErrNotExist only where the folder does not
// hold that name.
func (f *Folder) open(name string) (fs.File, error) {
	at := path.Join(f.Path, name)
	file, err := files.OpenIn(f.FS, at)
	if err == nil {
		return file, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		if _, e := fs.Lstat(f.FS, at); e != nil {
			return nil, fmt.Errorf("there is no %s%w", name, quiet{err})
		}
		return nil, fmt.Errorf("%s: it is a symbolic link to nothing", name)
	}
	return nil, fmt.Errorf("%s: %w", name, files.Cause(err))
}

// quiet is an error to be recognised, whose text stands before it already.
type quiet struct{ error }

func (quiet) Error() string   { return "" }
func (q quiet) Unwrap() error { return q.error }
