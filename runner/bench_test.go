package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// BenchmarkRack runs the plan of a rack of 72 GPUs, 69,807 specs with empty
// bodies, through the real supervisor and its children. It must take less than
// 30 s, and no process more than 200 MB.
func BenchmarkRack(b *testing.B) {
	for b.Loop() {
		benchmark(b, "rack", "nvl72", 30*time.Second, 200<<20)
	}
}

// BenchmarkIsolated runs 56 specs, each in a process of its own.
func BenchmarkIsolated(b *testing.B) {
	for b.Loop() {
		benchmark(b, "isolated", "hgx-h200-8", 4*time.Second, 200<<20)
	}
}

func benchmark(b *testing.B, suite, node string, limit time.Duration, memory int64) {
	b.Helper()
	cmd := exec.Command(minisuite, "-node", filepath.Join("..", "cuda", "sim", "nodes", node+".yaml"), "-out", filepath.Join(b.TempDir(), "out"))
	cmd.Env = append(os.Environ(), "MINISUITE="+suite, "GORACE=atexit_sleep_ms=0")
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	took := time.Since(began)
	// The kernel's figure is that of the largest process of the tree, in KiB.
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		b.Fatal("no resource usage")
	}
	peak := usage.Maxrss << 10
	b.ReportMetric(float64(peak)/1e6, "MB-peak")
	if took > limit || peak > memory {
		b.Errorf("took %s of %s, and %d of %d bytes", took, limit, peak, memory)
	}
}
