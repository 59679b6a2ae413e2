package evidence

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"
)

// writeArchive writes the files of dir, whose names it is given, as a tar.gz
// with one folder in it. The same files, names and time give the same bytes.
func writeArchive(out io.Writer, top string, dir fs.FS, names []string, at time.Time) error {
	if at.Year() < 1970 || at.Year() > 2200 {
		at = time.Unix(0, 0) // a server whose clock is lost, and tar has no room for it
	}
	at = at.UTC().Truncate(time.Second)
	zip := gzip.NewWriter(out)
	w := tar.NewWriter(zip)
	header := func(h tar.Header) error {
		h.ModTime, h.Format, h.Uname, h.Gname = at, tar.FormatUSTAR, "root", "root"
		return w.WriteHeader(&h)
	}
	if err := header(tar.Header{Typeflag: tar.TypeDir, Name: top + "/", Mode: 0o755}); err != nil {
		return fmt.Errorf("archive %s: %w", top, err)
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if err := addFile(w, header, top, dir, name); err != nil {
			return fmt.Errorf("archive %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return zip.Close()
}

func addFile(w io.Writer, header func(tar.Header) error, top string, dir fs.FS, name string) error {
	file, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := header(tar.Header{Typeflag: tar.TypeReg, Name: top + "/" + name, Size: info.Size(), Mode: 0o644}); err != nil {
		return err
	}
	_, err = io.Copy(w, file) // tar refuses more or fewer bytes than announced
	return err
}
