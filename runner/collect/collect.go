// Package collect asks the driver's own tools for what they say of this
// machine, for a vendor who knows them. Each has a deadline: on a machine that
// needs them they hang.
package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Deadlines of the tools. A healthy server of eight GPUs needs 3 s and 90 s.
const (
	smiWithin       = time.Minute
	bugReportWithin = 10 * time.Minute
)

// maxOutput bounds what is kept of a tool's output, in bytes.
const maxOutput = 16 << 20

// SMI is the output of nvidia-smi -q. The error says in one line why there is
// none.
func SMI(ctx context.Context) ([]byte, error) {
	out, err := run(ctx, smiWithin, "", "nvidia-smi", "-q")
	if err != nil {
		return nil, err
	}
	return out, nil
}

// BugReport runs nvidia-bug-report.sh, which needs root, in an existing folder
// and returns the file that it left there. Where there is both a file and an
// error, the tool did not come to its end.
func BugReport(ctx context.Context, dir string) (path string, err error) {
	const name = "nvidia-bug-report.log"
	_, err = run(ctx, bugReportWithin, dir, "nvidia-bug-report.sh", "--output-file", name)
	for _, n := range []string{name + ".gz", name} {
		path := filepath.Join(dir, n)
		if info, e := os.Lstat(path); e == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return path, err
		}
	}
	if err == nil {
		err = errors.New("nvidia-bug-report.sh ended well and left no file")
	}
	return "", err
}

// reapWithin is how long a killed tool is waited for: one that is stuck in the
// kernel never ends.
const reapWithin = 5 * time.Second

// run runs a tool and returns what it wrote to standard output. It gets no
// environment but what it needs: what it leaves goes to other people.
func run(ctx context.Context, within time.Duration, dir, name string, args ...string) ([]byte, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("%s is not on this machine's PATH", name)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var stdout, stderr limited
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=/"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // for what it left behind with our pipe
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended:
		case <-time.After(reapWithin):
			return nil, fmt.Errorf("%s did not end within %s, and does not die", name, within)
		}
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%s did not end within %s", name, within)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s was interrupted", name)
	case err != nil:
		return nil, fmt.Errorf("%s: %w: %s", name, err, lastLine(stderr.kept.String(), stdout.kept.String()))
	case stdout.dropped:
		return nil, fmt.Errorf("%s wrote more than %d bytes", name, maxOutput)
	}
	return stdout.kept.Bytes(), nil
}

// lastLine is the last line of the first text that has one.
func lastLine(texts ...string) string {
	for _, text := range texts {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
			return last[:min(len(last), 500)]
		}
	}
	return "it said nothing"
}

// limited keeps the beginning of what is written to it. The buffer is no part
// of its face: io.Copy would find bytes.Buffer's ReadFrom, which has no limit.
type limited struct {
	kept    bytes.Buffer
	dropped bool
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), maxOutput-l.kept.Len())
	l.dropped = l.dropped || n < len(p)
	l.kept.Write(p[:n]) // it never fails
	return len(p), nil
}
