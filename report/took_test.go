package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/internal/sample"
	"github.com/peerproof/peerproof/runner/journal"
)

// The night for which a run lay still is no time that it took.
func TestTookLeavesOutThePause(t *testing.T) {
	j := new(sample.Journal).Add(journal.Event{Type: journal.TypeRun, Run: sample.Run()})
	j.Check("dereference/read", "x", nil, "gpu0->gpu1", "gpu1->gpu0")
	j.Spec("dereference/read[gpu0->gpu1]", sample.Pass)
	for range 2 {
		j.Wait(10 * time.Hour)
		j.Add(journal.Event{Type: journal.TypeResume})
		j.Spec("dereference/read[gpu1->gpu0]", sample.Pass)
	}
	j.Finish("done", 0)
	r, err := report.Build(strings.NewReader(j.String()))
	if err != nil {
		t.Fatal(err)
	}
	if took := r.Run.Took().Round(100 * time.Millisecond); took != 1500*time.Millisecond {
		t.Errorf("it took %s, want 1.5 s for three specs", took)
	}
	if all := r.Run.Ended.Sub(r.Run.Started); all < 20*time.Hour {
		t.Errorf("from start to end %s", all)
	}
	if r.Unfinished {
		t.Error("it has an end")
	}
}
