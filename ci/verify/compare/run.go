package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/runner/journal"
)

// run is one run of peerproof, with what its journal holds beside the results.
type run struct {
	*report.Results
	answers  map[string][]string // of the driver, by spec
	children map[int]string      // what each process was there for, by pid
}

// answered is how a step tells what the driver answered.
const answered = "the driver answered: "

// load reads the journal of an output folder.
func load(dir string) (*run, error) {
	text, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("%w; expected the output folder of peerproof run", err)
	}
	r, err := fold(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return r, nil
}

// fold makes a run of a journal's text.
func fold(text string) (*run, error) {
	results, err := report.Build(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	r := &run{Results: results, answers: map[string][]string{}, children: map[int]string{}}
	// What is wrong with the journal stands in the results' warnings.
	_ = journal.Recover(strings.NewReader(text), func(e journal.Event) error {
		switch {
		case e.Type == journal.TypeStep && e.Attempt == 0:
			if said, ok := strings.CutPrefix(e.Text, answered); ok {
				r.answers[e.Spec] = append(r.answers[e.Spec], said)
			}
		case e.Type == journal.TypeChild && e.Child != nil:
			r.children[e.Child.PID] = e.Child.Task
		}
		return nil
	}, func(*journal.BrokenError) {})
	return r, nil
}

// marks are what a title must say of the run.
func (r *run) marks() string {
	if m := r.Run.Marks(); m != "" {
		return " (" + m + ")"
	}
	return ""
}
