package sim

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/peerproof/peerproof/cuda"
)

func crashHere() {
	f, err := Parse("crash.yaml", []byte(os.Getenv("SIM_CRASH")))
	if err != nil {
		panic(err)
	}
	runtime.LockOSThread()
	api, err := f.Open(History{}).OpenCUDA()
	if err != nil {
		panic(err)
	}
	var c, d uintptr
	var p, q cuda.DevicePtr
	for _, result := range []cuda.Result{
		api.Init(0), api.PrimaryCtxRetain(&c, 0), api.PrimaryCtxRetain(&d, 1), api.CtxSetCurrent(d), api.MemAlloc(&q, 64),
		api.CtxSetCurrent(c), api.MemAlloc(&p, 64),
		api.MemcpyPeerAsync(p, c, q, d, 64, 0), // by device 0 from device 1
	} {
		if result != cuda.Success {
			panic(result)
		}
	}
	os.Exit(0)
}

func runCrash(t *testing.T, text string) *exec.ExitError {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SIM_CRASH="+text)
	err := cmd.Run()
	if err == nil {
		return nil
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return exit
}

// TestHang shows that the wait for work that hangs does not return, that the
// stream stays busy, and that other pairs work meanwhile.
func TestHang(t *testing.T) {
	r := open(t, three("{kind: hang, pair: [0, 1], engine: ce-read}"), History{})
	if wrong, _, result := r.moved(ways[1], 0, 1, 64); wrong != 0 || result != cuda.Success {
		t.Fatalf("the other engine: %d wrong, %v", wrong, result)
	}
	if wrong, _, result := r.moved(ways[0], 1, 0, 64); wrong != 0 || result != cuda.Success {
		t.Errorf("the other way: %d wrong, %v", wrong, result)
	}
	s := r.stream(0)
	src, dst := r.alloc(1, 64), r.alloc(0, 64)
	r.fill(0, dst, 64, 2)
	r.ok(r.move(ways[0], 0, 1, dst, src, 64, s))
	for range 3 {
		r.want(r.api.StreamQuery(s), cuda.ErrNotReady)
	}
	e := r.event(0)
	r.ok(r.api.EventRecord(e, s))
	waits := map[string]func() cuda.Result{
		"stream":  func() cuda.Result { return r.api.StreamSynchronize(s) },
		"context": r.api.CtxSynchronize,
		"event":   func() cuda.Result { return r.api.EventSynchronize(e) },
		"free":    func() cuda.Result { return r.api.MemFree(dst) },
	}
	for name, wait := range waits {
		returned := make(chan cuda.Result, 1)
		started := make(chan cuda.Result)
		go func() {
			runtime.LockOSThread() // the thread is lost with the goroutine
			started <- r.api.CtxSetCurrent(r.ctx[0])
			returned <- wait()
		}()
		r.ok(<-started)
		select {
		case result := <-returned:
			t.Errorf("the wait for the %s returned %v", name, result)
		case <-time.After(20 * time.Millisecond):
		}
	}
	if wrong, _, result := r.moved(ways[0], 2, 1, 64); wrong != 0 || result != cuda.Success {
		t.Errorf("another pair: %d wrong, %v", wrong, result)
	}
}

func TestCrash(t *testing.T) {
	two := func(fault string) string { return node(gpus(2, "NVIDIA L40S"), "faults: ["+fault+"]") }
	if exit := runCrash(t, two("{kind: crash, pair: [1, 0], signal: KILL}")); exit != nil {
		t.Errorf("a fault of the other way ended the process: %v", exit)
	}
	exit := runCrash(t, two("{kind: crash, pair: [0, 1], engine: ce-read, signal: KILL}"))
	if exit == nil || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("KILL: %v", exit)
	}
	exit = runCrash(t, two("{kind: crash, gpu: 1, signal: SIGSEGV}"))
	if exit == nil || exit.ExitCode() != 2 { // how the Go runtime dies of it
		t.Errorf("SEGV: %v", exit)
	}
}

// waitBriefly fails where something that must hang returns.
func waitBriefly[T any](t *testing.T, returned <-chan T) {
	t.Helper()
	select {
	case r := <-returned:
		t.Errorf("it returned %v", r)
	case <-time.After(20 * time.Millisecond):
	}
}
