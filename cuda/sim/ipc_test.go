package sim

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/kernels"
)

// TestOpener is no test of its own: it is what the second process of the tests
// below does. It says on its standard output what it found.
func TestOpener(t *testing.T) {
	text := os.Getenv("SIM_OPENER")
	if text == "" {
		t.Skip("runs in the second process of the other tests")
	}
	var handle cuda.IPCHandle
	if err := handle.UnmarshalText([]byte(os.Getenv("SIM_HANDLE"))); err != nil {
		t.Fatal(err)
	}
	bytes, err := strconv.ParseUint(os.Getenv("SIM_BYTES"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, text)
	b, err := l.ctx[0].OpenIPC(handle, bytes)
	if err != nil {
		fmt.Printf("open %d\n", code(err))
		return
	}
	n, first := l.wrong(0, b, 1)
	l.launch(0, kernels.Fill, uint64(b.Ptr()), bytes, 2, 0)
	err = l.streams[0].Synchronize()
	fmt.Printf("read %d %d write %d\n", n, first, code(err))
	if err == nil {
		l.must(b.Close())
		if err := l.ctx[0].EnablePeer(l.ctx[1]); code(err) != cuda.ErrPeerAlreadyEnabled {
			t.Errorf("access is not enabled by the mapping: %v", err)
		}
		l.launch(0, kernels.Fill, uint64(b.Ptr()), 8, 2, 0)
		if code(l.streams[0].Synchronize()) != cuda.ErrIllegalAddress {
			t.Error("the address works on after Close")
		}
	}
}

// opener runs TestOpener on a node, in another process, with a handle of this one.
func opener(t *testing.T, text string, b *cuda.Buffer) string {
	t.Helper()
	handle := get1(b.IPCHandle())(t)
	words := get1(handle.MarshalText())(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestOpener$", "-test.v")
	cmd.Env = append(os.Environ(), "SIM_OPENER="+text, "SIM_HANDLE="+string(words), "SIM_BYTES="+fmt.Sprint(b.Bytes()))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "read ") || strings.HasPrefix(line, "open ") {
			return strings.TrimSpace(line)
		}
	}
	t.Fatalf("the opener says nothing:\n%s", out)
	return ""
}

func TestSharedBetweenProcesses(t *testing.T) {
	const none = "18446744073709551615"
	for _, c := range []struct {
		name, faults, opener string
		wrong, first         uint64 // as the owner sees it then
	}{
		{"healthy", "", "read 0 " + none + " write 0", 0, ^uint64(0)},
		{"a wrong bit read", "{kind: corrupt, pair: [0, 1], engine: sm-read, offset: 5000, bit: 1}\n  - {kind: corrupt, pair: [2, 1], offset: 7}", "read 1 5000 write 0", 0, ^uint64(0)},
		{"a wrong bit written", "{kind: corrupt, pair: [0, 1], engine: sm-write, offset: 5000, bit: 1}", "read 0 " + none + " write 0", 1, 5000},
		{"a private mirror", "{kind: private-mirror, pair: [0, 1]}", "read 0 " + none + " write 0", 100001, 0},
		{"illegal", "{kind: illegal-address, pair: [0, 1], engine: sm-write}", "read 0 " + none + " write 700", 100001, 0},
		{"no room", "{kind: too-many-peers, limit: 0}", "open 711", 100001, 0},
		{"no access", "{kind: no-access, pair: [0, 1]}", "open 217", 100001, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := node(gpus(3, "NVIDIA L40S"))
			if c.faults != "" {
				text = three(c.faults)
			}
			l := newLab(t, text)
			pad := l.alloc(1, 300) // what is shared begins somewhere in a page
			l.fill(1, pad, 9)
			b := l.alloc(1, 100001)
			l.fill(1, b, 1)
			if got := opener(t, text, b); got != c.opener {
				t.Errorf("the opener says %q, want %q", got, c.opener)
			}
			if n, first := l.wrong(1, b, 2); !near(n, c.wrong) || c.wrong < 2 && first != c.first {
				t.Errorf("the owner finds %d wrong from %d, want %d from %d", n, first, c.wrong, c.first)
			}
			if n, _ := l.wrong(1, pad, 9); n != 0 {
				t.Error("memory beside has changed")
			}
		})
	}
}

func TestSharedHandles(t *testing.T) {
	l := newLab(t, hgx2)
	b := l.alloc(0, 4096)
	l.fill(0, b, 1)
	h := get1(b.IPCHandle())(t)
	if n, _ := l.wrong(0, b, 1); n != 0 {
		t.Error("sharing has changed the memory")
	}
	if again := get1(b.IPCHandle())(t); again != h {
		t.Error("another handle of the same memory")
	}
	if _, err := l.ctx[1].OpenIPC(h, 4096); code(err) != cuda.ErrInvalidContext {
		t.Errorf("a handle of one's own: %v", err)
	}
	if _, err := l.ctx[1].OpenIPC(cuda.IPCHandle{}, 4096); code(err) != cuda.ErrInvalidValue {
		t.Errorf("no handle: %v", err)
	}
	gone := h
	gone.Reserved[8], gone.Reserved[9], gone.Reserved[10] = 0xff, 0xff, 0x3f // a process that is not there
	if _, err := l.ctx[1].OpenIPC(gone, 4096); code(err) != cuda.ErrInvalidValue {
		t.Errorf("a handle of nobody: %v", err)
	}
	r := open(t, hgx2, History{})
	p := r.alloc(0, 4096)
	r.want(r.api.IPCGetMemHandle(&h, p+8), cuda.ErrInvalidValue)
	r.want(r.api.IPCCloseMemHandle(p), cuda.ErrInvalidValue)
	pool := get1(l.ctx[0].AllocPool(64))(t)
	if _, err := pool.IPCHandle(); code(err) != cuda.ErrInvalidValue {
		t.Errorf("a handle of pool memory: %v", err)
	}
}
