package fleet

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/internal/files"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/runner/journal"
)

// Set is runs that were read.
type Set struct {
	runs    []*Run
	skipped []Skipped
	series  *catalogue
}

// Load reads the runs of folders, so many at a time. A folder that cannot be
// read is skipped, with the reason; so is what Find skipped.
func Load(folders []Folder, skipped []Skipped, workers int) *Set {
	set := &Set{skipped: slices.Clone(skipped), series: newCatalogue()}
	l := loader{series: set.series}
	var mu sync.Mutex // guards set.runs and set.skipped
	var all sync.WaitGroup
	work := make(chan Folder)
	for range max(1, workers) {
		all.Go(func() {
			buffer := bufio.NewReaderSize(nil, 1<<16)
			for f := range work {
				run, err := l.load(f, buffer)
				mu.Lock()
				if err != nil {
					set.skipped = append(set.skipped, Skipped{Dir: f.Name, Reason: report.Cut(report.Line(err.Error()), maxMessage, "…"), Unread: true})
				} else {
					set.runs = append(set.runs, run)
				}
				mu.Unlock()
			}
		})
	}
	for _, f := range folders {
		work <- f
	}
	close(work)
	all.Wait()
	return set
}

type loader struct {
	series *catalogue
	// rebuilding is held while a journal is read: a rack's needs 100 MB.
	rebuilding sync.Mutex
}

// load reads one folder: results.json where it is of the run as the journal
// has it, or where there is no journal, else the journal.
func (l *loader) load(f Folder, buffer *bufio.Reader) (*Run, error) {
	h, unknown := historyOf(f)
	if h.live || unknown != nil && !errors.Is(unknown, fs.ErrNotExist) {
		return l.rebuild(f) // the journal alone says what this run is
	}
	run, err := l.results(f, buffer)
	if err == nil && unknown == nil && (h.run.ID != run.Info.ID || !h.ended.Equal(run.Info.Ended)) {
		err = fmt.Errorf("%s: it is not of the run as %s has it", resultsName, journalName)
	}
	switch {
	case err == nil:
		run.profiled(h.run.ProfileText)
		return run, nil
	case errors.Is(err, errNewer), unknown != nil:
		return nil, err
	}
	run, e := l.rebuild(f)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case e != nil && missing:
		return nil, e
	case e != nil:
		return nil, fmt.Errorf("%w; %w", err, e)
	case !missing:
		run.Warnings = append(run.Warnings, err.Error()+"; "+journalName+" was read instead")
	}
	return run, nil
}

// results reads results.json, and node.json beside it.
func (l *loader) results(f Folder, buffer *bufio.Reader) (*Run, error) {
	file, err := f.open(resultsName)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	buffer.Reset(file)
	run := &Run{Dir: f.Name, Source: resultsName}
	h, err := decode(buffer, func(s *spec) { run.take(s, l.series) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", resultsName, err)
	}
	run.Info, run.Verdict, run.Exit, run.Counts, run.GPUs = h.run, h.verdict, h.exit, h.counts, h.gpus
	run.Warnings = slices.Clone(h.warnings)
	v, err := node(f)
	if err != nil {
		run.Warnings = append(run.Warnings, err.Error()+": the server's serial number and versions are not known")
	}
	run.equip(v)
	run.figures = slices.Clip(run.figures)
	return run, nil
}

// node reads node.json.
func node(f Folder) (*inventory, error) {
	file, err := f.open(nodeName)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	var v inventory
	if err := json.NewDecoder(file).Decode(&v); err != nil {
		return nil, fmt.Errorf("%s: %w", nodeName, ending(err))
	}
	if v.Version != topology.NodeVersion {
		return nil, fmt.Errorf("%s is of version %d, this peerproof reads %d", nodeName, v.Version, topology.NodeVersion)
	}
	return &v, nil
}

// history is what the two ends of a journal tell.
type history struct {
	run   journal.Run
	ended time.Time // of the last event
	live  bool      // a run is writing it
}

// The most that is read at the ends of a journal, in bytes: the first line
// holds the texts of profile and node, the last is short.
const (
	maxFirst = 4 << 20
	maxLast  = 64 << 10
)

// historyOf reads the first line of a journal and the last whole one.
func historyOf(f Folder) (h history, err error) {
	file, err := f.open(journalName)
	if err != nil {
		return h, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	if of, ok := file.(*os.File); ok {
		h.live = journal.InUse(of)
	}
	first, err := bufio.NewReader(io.LimitReader(file, maxFirst)).ReadBytes('\n')
	if err != nil {
		return h, fmt.Errorf("%s: the first line is not whole", journalName)
	}
	var e journal.Event
	if err := json.Unmarshal(first, &e); err != nil || e.Run == nil {
		return h, fmt.Errorf("%s: the first line is not that of a run", journalName)
	}
	h.run = *e.Run
	info, err := file.Stat()
	if err != nil {
		return h, fmt.Errorf("%s: %w", journalName, files.Cause(err))
	}
	at, ok := file.(io.ReaderAt)
	if !ok {
		return h, fmt.Errorf("%s: its end cannot be read", journalName)
	}
	end := make([]byte, min(info.Size(), maxLast))
	if _, err := at.ReadAt(end, info.Size()-int64(len(end))); err != nil && !errors.Is(err, io.EOF) {
		return h, fmt.Errorf("%s: %w", journalName, files.Cause(err))
	}
	var last struct {
		Time time.Time `json:"time"`
	}
	if err := json.Unmarshal(lastLine(end), &last); err != nil {
		return h, fmt.Errorf("%s: the last line cannot be read", journalName)
	}
	h.ended = last.Time
	return h, nil
}

// lastLine is the last whole line of what a file ends with.
func lastLine(end []byte) []byte {
	end = end[:bytes.LastIndexByte(end, '\n')+1] // without a torn line
	end = bytes.TrimSuffix(end, []byte("\n"))
	return end[bytes.LastIndexByte(end, '\n')+1:]
}

// rebuild reads the journal.
func (l *loader) rebuild(f Folder) (*Run, error) {
	l.rebuilding.Lock()
	defer l.rebuilding.Unlock()
	file, err := f.open(journalName)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	r, err := report.BuildFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", journalName, err)
	}
	run := &Run{
		Dir: f.Name, Source: journalName, Info: r.Run, Verdict: r.Verdict, Exit: r.Exit, Counts: r.Counts,
		Warnings: r.Warnings, GPUs: r.GPUs, live: r.Live,
	}
	var s spec
	for i := range r.Specs {
		of := &r.Specs[i]
		if r.Live && of.Code == verdict.NotRun { // its turn may come
			run.Counts.Error--
			continue
		}
		s = spec{ID: of.ID, Verdict: of.Verdict, Code: of.Code, Message: of.Message, Path: of.Path, Measurements: s.Measurements[:0]}
		for _, m := range of.Measurements {
			s.Measurements = append(s.Measurements, measurement{Name: m.Name, Value: m.Value, Unit: m.Unit})
		}
		run.take(&s, l.series)
	}
	if run.live {
		run.Verdict = run.Counts.Verdict()
	}
	if r.Node != nil {
		run.equip(inventoryOf(r.Node))
	}
	run.profiled(r.ProfileText)
	return run, nil
}
