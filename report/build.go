package report

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/internal/words"
	"github.com/peerproof/peerproof/runner/journal"
)

// Build folds a journal into results. A journal that was cut off is reported
// as far as it goes: specs without an end are error not-run, and a warning
// says so; so does one whose hash chain is broken. An error means that there
// is nothing to report: no run, or the reader failed.
func Build(r io.Reader) (*Results, error) { return build(r, false) }

// BuildFile is Build of a journal's file, which a run may be writing.
func BuildFile(file fs.File) (*Results, error) {
	of, ok := file.(*os.File)
	return build(file, ok && journal.InUse(of))
}

func build(r io.Reader, live bool) (*Results, error) {
	b := builder{
		live:    live,
		results: &Results{Version: Version, GPUs: []GPU{}, Specs: []Spec{}},
		index:   map[string]int{},
		words:   map[string]string{},
		repeats: map[int]*repeated{},
	}
	if err := b.read(r); err != nil {
		return nil, err
	}
	if b.run == nil {
		return nil, errors.New("the journal holds no run: its first line is missing")
	}
	b.settle()
	return b.results, nil
}

// builder is a journal being folded.
type builder struct {
	results *Results
	live    bool // a run was writing the journal when the reading began
	run     *journal.Run
	node    *topology.Node
	finish  *journal.Finish
	checks  []*journal.Check  // of the plan, until it is entered
	index   map[string]int    // of a spec id in results.Specs
	ended   []bool            // likewise by index
	repeats map[int]*repeated // likewise
	words   map[string]string // codes and names, each kept once
	last    time.Time         // of the last event
	strange int               // events of specs that no plan holds
}

// add folds one event.
func (b *builder) add(e *journal.Event) {
	if e.Type == journal.TypeResume && e.Time.After(b.last) {
		b.results.Run.Paused += e.Time.Sub(b.last)
	}
	b.last = e.Time
	switch e.Type {
	case journal.TypeRun:
		if b.run == nil && e.Run != nil {
			b.run = e.Run
			b.results.Run.Started = e.Time
		}
	case journal.TypeNode:
		b.node = e.Node
	case journal.TypeCheck:
		if e.Check != nil {
			b.checks = append(b.checks, e.Check)
		}
	case journal.TypeStart:
		if i, ok := b.spec(e.Spec); ok && e.Attempt > 1 {
			b.again(i, e)
		} else if ok {
			// A spec that runs again, after a resume, is judged anew.
			s := &b.results.Specs[i]
			s.Started, s.Measurements, b.ended[i] = e.Time, nil, false
		}
	case journal.TypeMeasure:
		if i, ok := b.spec(e.Spec); ok && e.Attempt > 1 {
			b.again(i, e)
		} else if ok && e.Measurement != nil {
			s := &b.results.Specs[i]
			s.Measurements = append(s.Measurements, b.figure(e.Measurement))
		}
	case journal.TypeEnd:
		if i, ok := b.spec(e.Spec); ok && e.Attempt > 1 {
			b.again(i, e)
		} else if ok && e.Outcome != nil {
			b.end(i, e)
		}
	case journal.TypeXid:
		if e.Xid != nil {
			b.results.Xids = append(b.results.Xids, *e.Xid)
		}
	case journal.TypeResume:
		b.finish = nil
	case journal.TypeFinish:
		b.finish = e.Finish
	default: // progress, children and notes change no result
	}
}

// plan enters the specs of the checks read so far, in their order. It waits
// for all of them, so that the list is made at its size.
func (b *builder) plan() {
	total := 0
	for _, c := range b.checks {
		total += len(c.Subjects)
	}
	b.results.Specs = slices.Grow(b.results.Specs, total)
	b.ended = slices.Grow(b.ended, total)
	if len(b.index) == 0 {
		b.index = make(map[string]int, total)
	}
	subjects := map[string]*Subject{"": nil}
	for _, c := range b.checks {
		for _, text := range c.Subjects {
			id := c.ID
			if text != "" {
				id += "[" + text + "]"
			}
			if _, known := b.index[id]; known {
				continue
			}
			subject, known := subjects[text]
			if !known {
				subject = parseSubject(text)
				subjects[text] = subject
			}
			b.index[id] = len(b.results.Specs)
			b.ended = append(b.ended, false)
			b.results.Specs = append(b.results.Specs, Spec{ID: id, Text: c.Text, Labels: orEmpty(c.Labels), Subject: subject})
		}
	}
	b.checks = nil
}

func (b *builder) spec(id string) (int, bool) {
	if b.checks != nil {
		b.plan()
	}
	i, ok := b.index[id]
	if !ok {
		b.strange++
	}
	return i, ok
}

func (b *builder) end(i int, e *journal.Event) {
	s := &b.results.Specs[i]
	b.outcome(s, e.Outcome)
	s.Duration = e.Seconds
	if s.Started.IsZero() && e.Outcome.Code != verdict.NotRun {
		s.Started = e.Time // settled from the inventory, without running
	}
	b.ended[i] = true
}

// outcome gives a spec an outcome.
func (b *builder) outcome(s *Spec, o *verdict.Outcome) {
	s.Verdict, s.Code = verdict.Verdict(b.word(string(o.Verdict))), b.word(o.Code)
	s.Message, s.Hint, s.Waiver = o.Message, b.word(o.Hint), o.Waiver
}

// figure is a measurement whose texts are kept once.
func (b *builder) figure(m *verdict.Measurement) verdict.Measurement {
	kept := *m
	kept.Name, kept.Unit, kept.Basis = b.word(m.Name), b.word(m.Unit), b.word(m.Basis)
	return kept
}

// word keeps one copy of a text that many events repeat.
func (b *builder) word(text string) string {
	if kept, ok := b.words[text]; ok {
		return kept
	}
	b.words[text] = text
	return text
}

// settle fills what only the whole journal tells.
func (b *builder) settle() {
	b.plan()
	r := b.results
	r.Run.ID, r.Run.Tool, r.Run.Host, r.Run.Args = b.run.ID, b.run.Tool, b.run.Host, orEmpty(b.run.Args)
	r.Run.Simulated, r.Run.Loopback = b.run.Simulated, b.run.Loopback
	r.Run.Node, r.Run.Profile = b.run.Node, b.run.Profile
	r.Run.Preset, r.Run.Keyword, r.Run.Labels = b.run.Preset, b.run.Keyword, b.run.Labels
	r.Run.Only = len(b.run.Only)
	r.Run.Ended = b.last
	r.Node, r.ProfileText, r.NodeText = b.node, b.run.ProfileText, b.run.NodeText
	if b.node != nil {
		r.Run.Serial = b.node.Host.Serial
		for i := range b.node.GPUs {
			g := &b.node.GPUs[i]
			r.GPUs = append(r.GPUs, GPU{
				Slot: topology.SlotName(g.Slot), BusID: g.BusID, UUID: g.UUID, Serial: g.Serial, Model: g.Model, NUMA: g.NUMA,
			})
		}
	}
	b.paths()
	r.Unfinished = b.finish == nil
	r.Live = r.Unfinished && b.live
	before, during := "the run stopped before this spec began", "the run stopped while this spec ran"
	if r.Live {
		before, during = "this spec has had no turn yet", "this spec runs now"
	}
	open := 0
	for i := range r.Specs {
		s := &r.Specs[i]
		if !b.ended[i] {
			open++
			s.Verdict, s.Code, s.Message = verdict.Error, verdict.NotRun, before
			if !s.Started.IsZero() {
				s.Message = during
			}
		} else if again := b.repeats[i]; again != nil {
			again.together(s)
		}
		r.Counts.Add(s.Verdict)
	}
	r.Verdict = r.Counts.Verdict()
	r.Exit = 2
	all := words.Count(len(r.Specs), "spec", "specs")
	switch {
	case r.Live:
		b.warn("this run is still going on: this is how it stands now, and what has no verdict yet, %d of %s, is shown as not-run", open, all)
	case r.Unfinished:
		b.warn("the journal has no end: the run was cut off, by a power cut or a kill; %d of %s have no verdict of their own and are not-run. Go on with run --resume", open, all)
	default:
		r.Exit = b.finish.Exit
	}
	b.waivers()
	if b.strange > 0 {
		b.warn("%s of specs that are not in the journal's plan: left out", words.Count(b.strange, "event", "events"))
	}
}

// parseSubject reads the text between the brackets of an id.
func parseSubject(text string) *Subject {
	if text == "" {
		return nil
	}
	if from, to, ok := strings.Cut(text, "->"); ok {
		return &Subject{From: from, To: to}
	}
	if from, to, ok := strings.Cut(text, "-"); ok {
		return &Subject{From: from, To: to}
	}
	return &Subject{GPU: text}
}

// slot is the number in gpuN.
func slot(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, "gpu")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
