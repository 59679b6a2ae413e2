package fleet

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/peerproof/peerproof/internal/files"
)

// Depth is how far below an argument run folders are looked for.
const Depth = 4

// The files of a run's folder that are read.
const (
	resultsName = "results.json"
	journalName = "journal.jsonl"
	nodeName    = "node.json"
	// reportName is what marks a folder as one of our own reports.
	reportName = "fleet.json"
)

// Folder is the folder of one run.
type Folder struct {
	Name string // as it is shown
	FS   fs.FS
	Path string // in FS
}

// Find looks for run folders in root and at most Depth below. Name is how root
// is shown. Folders without a run in or below them are named as skipped, and
// so is what cannot be read or lies too deep; hidden folders and earlier fleet
// reports are not.
func Find(name string, root fs.FS) ([]Folder, []Skipped) {
	f := finder{name: name, root: root}
	if !f.walk(".", 0) && len(f.skipped) == 0 {
		f.skip(".", false, "it holds no run: no "+journalName+" and no "+resultsName+" in it or below")
	}
	return f.found, f.skipped
}

type finder struct {
	name    string
	root    fs.FS
	found   []Folder
	skipped []Skipped
}

func (f *finder) shown(dir string) string {
	if dir == "." {
		return f.name
	}
	return strings.TrimSuffix(f.name, "/") + "/" + dir
}

func (f *finder) skip(dir string, unread bool, reason string) {
	f.skipped = append(f.skipped, Skipped{Dir: f.shown(dir), Reason: reason, Unread: unread})
}

// walk looks at a folder and below; it returns whether anything there was a
// run, or was named.
func (f *finder) walk(dir string, depth int) bool {
	entries, err := fs.ReadDir(f.root, dir)
	if err != nil {
		f.skip(dir, true, "it cannot be read: "+files.Cause(err).Error())
		return true
	}
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name && !e.IsDir() })
	}
	run := has(resultsName) || has(journalName)
	switch {
	case depth > Depth:
		f.skip(dir, run, "it lies deeper than run folders are looked for")
		return true
	case run:
		f.found = append(f.found, Folder{Name: f.shown(dir), FS: f.root, Path: dir})
		return true
	case has(reportName):
		return true
	}
	named := false
	var empty []string
	for _, e := range entries {
		below := path.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.Type()&fs.ModeSymlink != 0:
			if info, err := fs.Stat(f.root, below); err == nil && info.IsDir() {
				f.skip(below, false, "it is a symbolic link, which is not followed; name it as an argument")
				named = true
			}
		case !e.IsDir():
		case f.walk(below, depth+1):
			named = true
		default:
			empty = append(empty, below)
		}
	}
	// Of a tree without any run its top is named, once.
	if named || depth == 0 {
		for _, below := range empty {
			f.skip(below, false, "it holds no run: no "+journalName+" and no "+resultsName+" in it or below")
		}
		return named || len(empty) > 0
	}
	return false
}
