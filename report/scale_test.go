package report_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/internal/sample"
	"github.com/peerproof/peerproof/report/junit"
	"github.com/peerproof/peerproof/runner/journal"
)

// rack writes the journal of a rack: each check on every ordered pair, every
// hundredth spec below its floor.
func rack(t testing.TB, gpus, checks int) (path string, specs int) {
	t.Helper()
	var subjects []string
	for a := range gpus {
		for b := range gpus {
			if a != b {
				subjects = append(subjects, fmt.Sprintf("gpu%d->gpu%d", a, b))
			}
		}
	}
	path = filepath.Join(t.TempDir(), "journal.jsonl")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<20)
	j := sample.To(out)
	j.Add(journal.Event{Type: journal.TypeRun, Run: sample.Run()})
	j.Add(journal.Event{Type: journal.TypeNode, Node: sample.Node(gpus)})
	for c := range checks {
		j.Check(fmt.Sprintf("area%d/check-%d", c%7, c), "a requirement in a few words, as checks have", []string{"area", "performance"}, subjects...)
	}
	slow := verdict.Failf("below-floor", "38.2 GB/s is below the floor 44.1 of this pair over PIX")
	for c := range checks {
		for i, s := range subjects {
			outcome, value := sample.Pass, 54.0
			if i%100 == 0 {
				outcome, value = &slow, 38.2
			}
			j.Spec(fmt.Sprintf("area%d/check-%d[%s]", c%7, c, s), outcome, sample.Bandwidth(value))
		}
	}
	j.Finish("done", 1)
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	return path, checks * len(subjects)
}

func documents(t testing.TB, path string) int {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := report.Build(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(io.Writer, *report.Results) error{"results.json": report.WriteJSON, "junit.xml": junit.Write} {
		if err := report.WriteFile(filepath.Join(filepath.Dir(path), name), func(w io.Writer) error { return write(w, r) }); err != nil {
			t.Fatal(err)
		}
	}
	return len(r.Specs)
}

// A rack of 72 GPUs has 180,000 specs: 5 s and 200 MB are what its documents
// may cost.
func BenchmarkRack(b *testing.B) {
	path, specs := rack(b, 72, 35)
	for b.Loop() {
		start := cpuTime(b)
		if n := documents(b, path); n != specs {
			b.Fatalf("%d of %d specs", n, specs)
		}
		b.ReportMetric((cpuTime(b) - start).Seconds(), "cpu-s")
	}
	b.ReportMetric(float64(peakBytes(b))/1e6, "MB-peak")
}

// cpuTime is what the process has used of all processors, which other
// programs on the machine disturb less than the time that passed.
func cpuTime(t testing.TB) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// peakBytes is the most memory that the process has had.
func peakBytes(t testing.TB) (bytes int64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skipf("%s: %v", runtime.GOOS, err)
	}
	for line := range strings.Lines(string(status)) {
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &bytes); n == 1 {
			return bytes << 10
		}
	}
	return 0
}

// A small rack is enough to see that nothing is lost where documents are
// written piece by piece.
func TestRack(t *testing.T) {
	path, specs := rack(t, 16, 10)
	if n := documents(t, path); n != specs {
		t.Errorf("%d of %d specs", n, specs)
	}
}
