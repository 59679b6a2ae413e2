package cli_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/peerproof/peerproof/internal/pty"
	"github.com/peerproof/peerproof/runner/cli"
	_ "github.com/peerproof/peerproof/suites/all"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"peerproof": func() {
			os.Exit(cli.Main(os.Args[1:]))
		},
	})
}

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			// A program under the race detector otherwise sleeps for a second
			// before it exits.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "gpu" {
				_, err := os.Stat("/sys/module/nvidia")
				return err == nil, nil
			}
			if name == "pty" {
				screen, terminal, err := pty.Open(80)
				if err == nil {
					err = errors.Join(screen.Close(), terminal.Close())
				}
				return err == nil, nil
			}
			return false, errors.New("unknown condition")
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "mistake": mistake, "waitfor": waitFor, "unchanged": unchanged, "powercut": powerCut, "onterminal": onTerminal,
			"realrun": realRun,
		},
	})
}

// exits N COMMAND...: the command ends with exit code N.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N COMMAND...")
	}
	code := 0
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit %d, want %s", code, args[0])
	}
}

// mistake TEXT... -- COMMAND...: the command is refused with exit code 4 and
// one line that holds each text, says what was expected, and nothing else.
func mistake(ts *testscript.TestScript, neg bool, args []string) {
	split := -1
	for i, a := range args {
		if a == "--" {
			split = i
			break
		}
	}
	if neg || split < 0 {
		ts.Fatalf("usage: mistake TEXT... -- COMMAND...")
	}
	exits(ts, false, append([]string{"4"}, args[split+1:]...))
	said := ts.ReadFile("stderr")
	if strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "peerproof: ") {
		ts.Fatalf("not one line: %q", said)
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("standard output is not empty: %q", out)
	}
	for _, text := range args[:split] {
		if !strings.Contains(said, text) {
			ts.Fatalf("%q does not say %q", said, text)
		}
	}
	if !regexp.MustCompile("expected|did you mean|must be|known here|holds one|embedded are").MatchString(said) {
		ts.Fatalf("%q does not say what was expected", said)
	}
}

// onterminal N COMMAND...: the command ends with exit code 0 on a terminal of N
// columns; what it sends there is then in the file "screen".
func onTerminal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: onterminal N COMMAND...")
	}
	columns, err := strconv.Atoi(args[0])
	ts.Check(err)
	screen, terminal, err := pty.Open(columns)
	ts.Check(err)
	defer screen.Close()
	program, err := exec.LookPath(args[1])
	ts.Check(err)
	cmd := exec.Command(program, args[2:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), terminal, terminal
	cmd.Env = os.Environ()
	for _, name := range []string{"PATH", "HOME", "TERM", "NO_COLOR", "COLUMNS", "GORACE", "TMPDIR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	ts.Check(cmd.Start())
	terminal.Close()
	sent, _ := io.ReadAll(screen) // ends with EIO when the program has ended
	ts.Check(cmd.Wait())
	ts.Check(os.WriteFile(ts.MkAbs("screen"), sent, 0o644))
}

// waitfor FILE TEXT: within a minute the file holds the text.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitfor FILE TEXT")
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && strings.Contains(string(text), args[1]) {
			return
		}
	}
	ts.Fatalf("%s does not hold %q", args[0], args[1])
}

// powercut DIR NEW: a new folder holds the journal of the first but for its
// last bytes.
func powerCut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: powercut DIR NEW")
	}
	whole := ts.ReadFile(filepath.Join(args[0], "journal.jsonl"))
	end := strings.LastIndex(whole, `"type":"end"`)
	ts.Check(os.Mkdir(ts.MkAbs(args[1]), 0o755))
	ts.Check(os.WriteFile(ts.MkAbs(filepath.Join(args[1], "journal.jsonl")), []byte(whole[:end]), 0o644))
}

// unchanged FILE...: the working folder holds these names and no others.
func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs("."))
	ts.Check(err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got, want := strings.Join(names, " "), strings.Join(args, " "); neg || got != want {
		ts.Fatalf("the folder holds %s, want %s", got, want)
	}
}

// The ids of a server must be there in 50 ms: an editor or a shell asks for
// them while someone waits.
func BenchmarkList(b *testing.B) {
	program := filepath.Join(b.TempDir(), "peerproof")
	build := exec.Command("go", "build", "-o", program, "../../cmd/peerproof")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	for b.Loop() {
		if out, err := exec.Command(program, "list", "--node", "hgx-h200-8").CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
}
