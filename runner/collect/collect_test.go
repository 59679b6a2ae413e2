package collect

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tool makes a program of the name that is a shell script, and the only one on
// PATH beside the shell's.
func tool(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestSMI(t *testing.T) {
	for name, c := range map[string]struct{ script, want, err string }{
		"answers":      {"echo asked $*", "asked -q\n", ""},
		"fails":        {"echo no devices; echo Driver mismatch >&2; exit 9", "", "nvidia-smi: exit status 9: Driver mismatch"},
		"says nothing": {"exit 9", "", "exit status 9: it said nothing"},
		"floods":       {"head -c 17000000 /dev/zero", "", "wrote more than 16777216 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			tool(t, "nvidia-smi", c.script)
			out, err := SMI(t.Context())
			if string(out) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%.100q, error %v", out, err)
			}
		})
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := SMI(t.Context()); err == nil || err.Error() != "nvidia-smi is not on this machine's PATH" {
		t.Errorf("error %v where there is none", err)
	}
}

func TestToolsSeeNoSecrets(t *testing.T) {
	tool(t, "nvidia-smi", "env")
	t.Setenv("CI_TOKEN", "s3cret")
	out, err := SMI(t.Context())
	if err != nil || strings.Contains(string(out), "s3cret") || !strings.Contains(string(out), "LC_ALL=C") {
		t.Errorf("%s, error %v", out, err)
	}
}

// A tool that hangs costs its deadline, and so does what it started.
func TestAHangEndsAtTheDeadline(t *testing.T) {
	tool(t, "hangs", "sleep 300 & sleep 300")
	began := time.Now()
	_, err := run(t.Context(), 200*time.Millisecond, "", "hangs")
	if err == nil || !strings.Contains(err.Error(), "hangs did not end within 200ms") {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := run(ctx, time.Minute, "", "hangs"); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("error %v", err)
	}
}

func TestBugReport(t *testing.T) {
	for name, c := range map[string]struct{ script, file, err string }{
		"compressed": {`echo report | gzip > "$2.gz"`, "nvidia-bug-report.log.gz", ""},
		"plain":      {`echo report > "$2"`, "nvidia-bug-report.log", ""},
		"half":       {`echo report > "$2"; exit 1`, "nvidia-bug-report.log", "exit status 1"},
		"no root":    {`echo "ERROR: Please run nvidia-bug-report.sh as root." >&2; exit 1`, "", "as root"},
		"nothing":    {`exit 0`, "", "left no file"},
		"a link":     {`ln -s /etc/passwd "$2"`, "", "left no file"},
		"empty":      {`: > "$2"`, "", "left no file"},
	} {
		t.Run(name, func(t *testing.T) {
			tool(t, "nvidia-bug-report.sh", c.script)
			path, err := BugReport(t.Context(), t.TempDir())
			if path != "" {
				path = filepath.Base(path)
			}
			if path != c.file || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s, error %v", path, err)
			}
		})
	}
}
