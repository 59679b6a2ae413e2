package fleet

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/internal/sample"
	"github.com/peerproof/peerproof/runner/journal"
)

// folderOf is the folder of a small run: its journal, and results.json and
// node.json of it.
func folderOf(t *testing.T) (journalText, results, node []byte) {
	t.Helper()
	var j, r bytes.Buffer
	s := sample.To(&j)
	s.Add(journal.Event{Type: journal.TypeRun, Run: sample.Run()})
	s.Add(journal.Event{Type: journal.TypeNode, Node: sample.Node(2)})
	s.Check("bandwidth/write-ce", "fast enough", []string{"bandwidth"}, "gpu0->gpu1", "gpu1->gpu0")
	slow := verdict.Failf("below-floor", "too slow")
	s.Spec("bandwidth/write-ce[gpu0->gpu1]", sample.Pass, sample.Bandwidth(54))
	s.Spec("bandwidth/write-ce[gpu1->gpu0]", &slow, sample.Bandwidth(20))
	s.Finish("done", 1)
	built, err := report.Build(bytes.NewReader(j.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := report.WriteJSON(&r, built); err != nil {
		t.Fatal(err)
	}
	node, err = sample.Node(2).Encode()
	if err != nil {
		t.Fatal(err)
	}
	return j.Bytes(), r.Bytes(), node
}

func TestLoad(t *testing.T) {
	j, r, node := folderOf(t)
	later := bytes.Replace(r, []byte(`"ended":"2026`), []byte(`"ended":"2027`), 1)
	miscounted := bytes.Replace(r, []byte(`"pass":1,"fail":1`), []byte(`"pass":2,"fail":0`), 1)
	newer := bytes.Replace(r, []byte(`"version":1`), []byte(`"version":2`), 1)
	torn := j[:len(j)-40]
	for _, c := range []struct {
		name                   string
		results, journal, node []byte
		source, warning        string // warning is a part of the only one
		skipped                string // a part of the reason, where it is
	}{
		{"all as it should be", r, j, node, resultsName, "", ""},
		{"no journal", r, nil, node, resultsName, "", ""},
		{"no results", nil, j, node, journalName, "", ""},
		{"no inventory", r, j, nil, resultsName, "there is no node.json: the server's serial number", ""},
		{"inventory cut off", r, j, node[:50], resultsName, "node.json", ""},
		{"results cut off", r[:len(r)-5], j, node, journalName, "results.json: it ends in the middle; journal.jsonl was read instead", ""},
		{"results of another run", later, j, node, journalName, "not of the run as journal.jsonl has it", ""},
		{"results that do not add up", miscounted, j, node, journalName, "its counts are not those of its specs", ""},
		{"journal torn after the report", r, append(bytes.Clone(j), `{"seq":`...), node, resultsName, "", ""},
		{"rubbish for a journal", r, []byte("rubbish\n"), node, "", "", "journal.jsonl: the journal holds no run"},
		{"results cut off, no journal", r[:len(r)-5], nil, node, "", "", "results.json: it ends in the middle"},
		{"results that do not add up, no journal", miscounted, nil, node, "", "", "counts"},
		{"newer", newer, j, node, "", "", "it is of version 2, this peerproof reads version 1"},
		{"foreign", []byte(`{"version":1,"specs":[]}`), nil, nil, "", "", "it is no results.json of peerproof"},
		{"a list", []byte(`[1]`), nil, nil, "", "", "it does not begin with '{'"},
		{"empty", []byte{}, nil, nil, "", "", "it is empty"},
		{"both empty", []byte{}, []byte{}, nil, "", "", "journal.jsonl: the journal holds no run"},
		{"deep", []byte(`{"x":` + strings.Repeat("[", 100_000)), nil, nil, "", "", "results.json"},
	} {
		fsys := fstest.MapFS{}
		for name, text := range map[string][]byte{resultsName: c.results, journalName: c.journal, nodeName: c.node} {
			if text != nil {
				fsys[path.Join("a/run", name)] = &fstest.MapFile{Data: text}
			}
		}
		folders, skipped := Find("top", fsys)
		set := Load(folders, skipped, 2)
		if c.skipped != "" {
			if len(set.runs) != 0 || len(set.skipped) != 1 || set.skipped[0].Dir != "top/a/run" || !strings.Contains(set.skipped[0].Reason, c.skipped) {
				t.Errorf("%s: %d runs, skipped %v", c.name, len(set.runs), set.skipped)
			}
			continue
		}
		if len(set.runs) != 1 || len(set.skipped) != 0 {
			t.Errorf("%s: %d runs, skipped %v", c.name, len(set.runs), set.skipped)
			continue
		}
		run := set.runs[0]
		if run.Source != c.source || run.Counts != (report.Counts{Pass: 1, Fail: 1}) || run.worst.code != "below-floor" || len(run.figures) != 2 || run.figures[1].value != 20 {
			t.Errorf("%s: %+v", c.name, run)
		}
		if got := strings.Join(run.Warnings, " | "); c.warning == "" && got != "" || !strings.Contains(got, c.warning) {
			t.Errorf("%s: warnings %q", c.name, got)
		}
	}
	// A run that was cut off counts, as far as it came.
	set := Load([]Folder{{Name: "x", FS: fstest.MapFS{journalName: &fstest.MapFile{Data: torn}}, Path: "."}}, nil, 1)
	if len(set.runs) != 1 || set.runs[0].Exit != 2 || len(set.runs[0].Warnings) != 2 {
		t.Errorf("torn: %+v %v", set.runs, set.skipped)
	}
}

func TestFind(t *testing.T) {
	file := &fstest.MapFile{}
	fsys := fstest.MapFS{
		"a/results.json": file, "a/below/results.json": file, "b/c/d/journal.jsonl": file,
		"1/2/3/4/results.json": file, "1/2/3/5/6/results.json": file,
		"foreign/x/y": file, "b/other/z": file, ".hidden/results.json": file, "report/fleet.json": file, "notes": file,
		"link": {Mode: fs.ModeSymlink, Data: []byte("a")},
	}
	folders, skipped := Find("top", fsys)
	var found []string
	for _, f := range folders {
		found = append(found, f.Name)
	}
	if diff := cmp.Diff([]string{"top/1/2/3/4", "top/a", "top/b/c/d"}, found); diff != "" {
		t.Error(diff)
	}
	why := map[string]string{}
	for _, s := range skipped {
		why[s.Dir], _, _ = strings.Cut(s.Reason, ":")
	}
	want := map[string]string{
		"top/1/2/3/5/6": "it lies deeper than run folders are looked for", "top/foreign": "it holds no run", "top/b/other": "it holds no run",
		"top/link": "it is a symbolic link, which is not followed; name it as an argument",
	}
	if diff := cmp.Diff(want, why); diff != "" {
		t.Error(diff)
	}
	if _, skipped := Find("nothing", fstest.MapFS{}); len(skipped) != 1 || skipped[0].Dir != "nothing" {
		t.Errorf("%v", skipped)
	}
}

// What may not be read is named.
func TestDenied(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("root may read everything: the folder is replaced by one that fails")
	}
	_, skipped := Find("top", denied{fstest.MapFS{"x/results.json": &fstest.MapFile{}}})
	if len(skipped) != 1 || skipped[0] != (Skipped{Dir: "top/x", Reason: "it cannot be read: permission denied", Unread: true}) {
		t.Errorf("%v", skipped)
	}
	folders := []Folder{{Name: "r", FS: denied{fstest.MapFS{}}, Path: "x"}}
	if set := Load(folders, nil, 1); len(set.skipped) != 1 || set.skipped[0].Reason != "journal.jsonl: permission denied" {
		t.Errorf("%v", set.skipped)
	}
}

// denied refuses what is in x.
type denied struct{ fstest.MapFS }

func (d denied) Open(name string) (fs.File, error) {
	if strings.HasPrefix(name, "x") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return d.MapFS.Open(name)
}

func (d denied) Stat(name string) (fs.FileInfo, error) {
	if strings.HasPrefix(name, "x") {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrPermission}
	}
	return d.MapFS.Stat(name)
}

func (d denied) ReadDir(name string) ([]fs.DirEntry, error) {
	if strings.HasPrefix(name, "x") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return d.MapFS.ReadDir(name)
}

func TestSpan(t *testing.T) {
	for seconds, want := range map[float64]string{-1: "in the future", 5: "5 s", 119: "119 s", 180: "3 min", 7200: "2 h", 864000: "10 d"} {
		if got := span(seconds); got != want {
			t.Errorf("%v: %s, want %s", time.Duration(seconds)*time.Second, got, want)
		}
	}
}
