package report_test

import (
	"strings"
	"testing"

	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/internal/sample"
	"github.com/peerproof/peerproof/runner/journal"
)

func TestPartial(t *testing.T) {
	for name, tt := range map[string]struct {
		run  journal.Run
		want string
	}{
		"all":         {journal.Run{}, ""},
		"acceptance":  {journal.Run{Preset: "acceptance"}, ""},
		"rma":         {journal.Run{Preset: "rma"}, ""},
		"gate":        {journal.Run{Preset: "gate"}, "PARTIAL: only preset gate, 2 specs"},
		"-k":          {journal.Run{Keyword: "access and gpu0"}, `PARTIAL: only -k "access and gpu0", 2 specs`},
		"-m":          {journal.Run{Labels: "data"}, `PARTIAL: only -m "data", 2 specs`},
		"last failed": {journal.Run{Only: []string{"a/b[gpu0]"}}, "PARTIAL: only --last-failed (1 id), 2 specs"},
		"all of them": {
			journal.Run{Preset: "gate", Keyword: "a", Labels: "b", Only: []string{"x", "y"}},
			`PARTIAL: only preset gate with -k "a" with -m "b" with --last-failed (2 ids), 2 specs`,
		},
		"one line, no escapes": {journal.Run{Keyword: "a\nb\x1b[2J"}, `PARTIAL: only -k "` + report.Line("a\nb\x1b[2J") + `", 2 specs`},
	} {
		t.Run(name, func(t *testing.T) {
			j := new(sample.Journal).Add(journal.Event{Type: journal.TypeRun, Run: &tt.run})
			j.Check("a/b", "it is", nil, "gpu0", "gpu1").Spec("a/b[gpu0]", sample.Pass).Spec("a/b[gpu1]", sample.Pass).Finish("done", 0)
			r, err := report.Build(strings.NewReader(j.String()))
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Partial(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	r := report.Results{Run: report.Run{Keyword: strings.Repeat("x or ", 10_000)}}
	if got := r.Partial(); len(got) > 300 {
		t.Errorf("%d bytes", len(got))
	}
}
