package terminal

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

// pairs is a run of one bandwidth check on n GPUs, in which a figure tells its
// pair: 100*from + to. A pair with an odd sum failed.
func pairs(check string, n int) *report.Results {
	r := &report.Results{Verdict: verdict.Fail, Exit: 1}
	for i := range n {
		for j := range n {
			if i == j {
				continue
			}
			s := report.Spec{
				ID:       fmt.Sprintf("%s[gpu%d->gpu%d]", check, i, j),
				Verdict:  verdict.Pass,
				Subject:  &report.Subject{From: fmt.Sprintf("gpu%d", i), To: fmt.Sprintf("gpu%d", j)},
				Path:     "NV18",
				Duration: float64(100*i+j) / 100,
			}
			if (i+j)%2 == 1 {
				s.Verdict, s.Code = verdict.Fail, "below-floor"
			}
			s.Measurements = []verdict.Measurement{{Name: "bandwidth", Unit: "GB/s", Value: float64(100*i + j)}}
			r.Counts.Add(s.Verdict)
			r.Specs = append(r.Specs, s)
		}
	}
	return r
}

func summaryOf(t *testing.T, r *report.Results, o Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := Summary(&out, r, nil, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The matrix is read back by columns, and each figure compared with its pair's.
func TestMatrixReadsBack(t *testing.T) {
	r := pairs("bandwidth/read-ce", 8)
	r.Specs[3].Measurements = nil // gpu0->gpu4 measured nothing
	text := summaryOf(t, r, Options{})
	clean(t, text, 80)
	golden(t, "matrix.txt", text)
	_, after, found := strings.Cut(text, "bandwidth/read-ce, GB/s one way from row to column; ! did not pass, - not\n  measured\n")
	if !found {
		t.Fatalf("no matrix in\n%s", text)
	}
	lines := strings.SplitN(after, "\n", 10)
	if got := strings.Fields(lines[0]); len(got) != 8 || got[7] != "gpu7" {
		t.Fatalf("header %q", lines[0])
	}
	for i, line := range lines[1:9] {
		fields := strings.Fields(line)
		if len(fields) != 9 || fields[0] != "gpu"+strconv.Itoa(i) {
			t.Fatalf("row %d: %q", i, line)
		}
		for j, f := range fields[1:] {
			want := fmt.Sprintf("%d.0", 100*i+j)
			switch {
			case i == j:
				want = "X"
			case i == 0 && j == 4:
				want = "-"
			case (i+j)%2 == 1:
				want += "!"
			}
			if f != want {
				t.Errorf("gpu%d->gpu%d is %s, want %s", i, j, f, want)
			}
		}
	}
	if quiet := summaryOf(t, r, Options{Level: Quiet}); strings.Contains(quiet, "GB/s one way") {
		t.Error("-q shows the matrix")
	}
}

func TestMatrixOfManyGPUsIsItsExtremes(t *testing.T) {
	for name, o := range map[string]Options{"many": {}, "narrow": {Width: 40}} {
		n := 9
		if name == "narrow" {
			n = 8
		}
		r := pairs("bandwidth/write-ce", n)
		for i := range r.Specs {
			if r.Specs[i].Subject.From == "gpu1" {
				r.Specs[i].Path = "SYS"
			}
		}
		text := summaryOf(t, r, o)
		clean(t, text, o.width())
		got := strings.Join(strings.Fields(text), " ")
		for _, want := range []string{
			fmt.Sprintf("SYS: %d pairs, median %s, lowest 100.0 (gpu1->gpu0), highest %d.0 (gpu1->gpu%d); %d did not pass",
				n-1, map[int]string{9: "104.5", 8: "104.0"}[n], 100+n-1, n-1, map[int]int{9: 5, 8: 4}[n]),
			"lowest 1.0 (gpu0->gpu1)",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
	}
}

func TestMatrixInLoopback(t *testing.T) {
	r := &report.Results{Verdict: verdict.Pass, Specs: []report.Spec{{
		ID: "bandwidth/write-sm[gpu0->gpu0]", Verdict: verdict.Pass, Subject: &report.Subject{From: "gpu0", To: "gpu0"},
		Measurements: []verdict.Measurement{{Unit: "GB/s", Value: 1234.56}},
	}}}
	if text := summaryOf(t, r, Options{}); !strings.Contains(text, "\ngpu0 1234.6\n") {
		t.Errorf("got\n%s", text)
	}
	r.Specs[0].ID = "memory/x[gpu0->gpu0]"
	if text := summaryOf(t, r, Options{}); strings.Contains(text, "one way") {
		t.Errorf("a matrix of nothing:\n%s", text)
	}
}

func TestParseListing(t *testing.T) {
	for chars, want := range map[string]string{
		"f": "[fail]", "fE": "[error fail]", "Ef": "[error fail]", "a": "[skip waived error fail]",
		"A": "[pass skip waived error fail]", "N": "[]", "aN": "[]", "Ns": "[skip]", "ap": "[pass skip waived error fail]", "w": "[waived]",
	} {
		if got, err := ParseListing(chars); err != nil || fmt.Sprint(got) != want {
			t.Errorf("-r %s: %v, %v; want %s", chars, got, err, want)
		}
	}
	for chars, want := range map[string]string{"": "empty", "fe": "column 2", "fx": `'x'`, "F": "expected letters of"} {
		if _, err := ParseListing(chars); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("-r %q: %v, want %s", chars, err, want)
		}
	}
}

func TestListingAndDurations(t *testing.T) {
	r := pairs("bandwidth/write-ce", 3)
	r.Specs = append(r.Specs, report.Spec{ID: "link/nvlink-peer", Verdict: verdict.Skip, Code: "no-nvlink", Message: "none"})
	text := summaryOf(t, r, Options{List: []verdict.Verdict{verdict.Pass, verdict.Skip, verdict.Fail}, Durations: 2})
	clean(t, text, 80)
	golden(t, "listing.txt", text)
	for line, n := range map[string]int{"\nPASS   ": 2, "\nSKIP   link/nvlink-peer no-nvlink: none": 1, "\nFAIL   bandwidth": 1 + 4, " s  bandwidth": 2} {
		if got := strings.Count(text, line); got != n {
			t.Errorf("%d times %q, want %d:\n%s", got, line, n, text)
		}
	}
	if text := summaryOf(t, r, Options{Durations: -1}); !strings.Contains(text, "slowest 6 specs\n     2.01 s  bandwidth/write-ce[gpu2->gpu1]\n     2.00 s") {
		t.Errorf("all durations:\n%s", text)
	}
	if text := summaryOf(t, &report.Results{}, Options{Durations: 3}); !strings.Contains(text, "no spec ran") {
		t.Errorf("durations of nothing:\n%s", text)
	}
}
