package runner

import (
	"context"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// This test looks at all goroutines of the process, so no other may run
// beside it: it is not parallel.
func TestLeakedGoroutinesAreNamed(t *testing.T) {
	if name := labelled(); name != "" {
		t.Fatalf("before anything was started: %s", name)
	}
	stop := make(chan struct{})
	pprof.Do(context.Background(), pprof.Labels(specLabel, "7"), func(context.Context) {
		go waitFor(stop)
	})
	began := time.Now()
	name := (&leakWatch{}).leaked()
	if !strings.Contains(name, "leak_test.go:") || time.Since(began) < leakPatience {
		t.Errorf("%q after %s", name, time.Since(began))
	}
	if stacks := specGoroutines(); !strings.Contains(stacks, "leak_test.go:") {
		t.Errorf("stacks: %s", stacks)
	}
	close(stop)
	if name := lingering(); name != "" {
		t.Errorf("it has ended: %s", name)
	}
}

func waitFor(stop chan struct{}) {
	func() { <-stop }()
}

func TestAGoroutineOnItsWayOutIsNoLeak(t *testing.T) {
	t.Parallel()
	const out = "1 @ 0x46dc7b 0x4a2386\n# labels: {\"peerproof-spec\":\"172\"}\n#\t0x46dc7a\truntime.goexit1+0x9a\t/usr/local/go/src/runtime/proc.go:4475"
	const at = "1 @ 0x46dc7b\n# labels: {\"peerproof-spec\":\"1\"}\n#\t0x4\truntime.gopark+0x1\t/r.go:1\n#\t0x46dc7a\tmain.f+0x9a\t\t/m.go:4"
	const before = "1 @ 0x483e41\n# labels: {\"peerproof-spec\":\"7\"}\n"
	if !ending(out) || ending(at) || ending(before) {
		t.Errorf("out %v, at work %v, before it began %v", ending(out), ending(at), ending(before))
	}
	if function, place := splitFrame(strings.Split(at, "\n")[3]); function != "main.f" || place != "/m.go:4" {
		t.Errorf("%q %q", function, place)
	}
}

func TestTheFloorSeesOneGoroutineMore(t *testing.T) {
	l := &leakWatch{}
	for range sureLooks + 1 {
		if name := l.leaked(); name != "" {
			t.Fatalf("nothing was started: %s", name)
		}
	}
	stop := make(chan struct{})
	defer close(stop)
	pprof.Do(context.Background(), pprof.Labels(specLabel, "7"), func(context.Context) {
		go waitFor(stop)
	})
	if l.leaked() == "" {
		t.Error("a goroutine more than the floor is not seen")
	}
}
