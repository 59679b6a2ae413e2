package main

/*
#include <signal.h>
#include <unistd.h>

static void hang(void) { for (;;) pause(); }
static void crash(void) { *(volatile int *)8 = 1; }
static void deaf(void) { signal(SIGTERM, SIG_IGN); signal(SIGINT, SIG_IGN); for (;;) pause(); }
*/
import "C"

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

// onOne declares a check of all ordered pairs whose body misbehaves on one.
func onOne(bad func(*fixtures.Pair), options ...fixtures.Option) {
	fixtures.Specify("mini/bad", fixtures.OrderedPairs, nil, "is bad on one pair", func(p *fixtures.Pair) {
		By("looking at " + p.String())
		if p.String() == "gpu4->gpu1" {
			bad(p)
		}
	}, append(options, fixtures.Needs())...)
}

// suite is innocents around one check that misbehaves on gpu4->gpu1.
func suite(name string, bad func(), options ...fixtures.Option) {
	onePair(name, func(*fixtures.Pair) { bad() }, options...)
}

// onePair is suite for what takes the pair.
func onePair(name string, bad func(*fixtures.Pair), options ...fixtures.Option) {
	suites[name] = func() {
		innocents()
		onOne(bad, options...)
	}
}

func init() {
	hang := func() { C.hang() }
	suite("hang-in-c", hang)
	suite("hang-decides", hang, fixtures.HangMeans("no-progress"))
	suite("isolated-hang", hang, fixtures.Isolated)
	suite("segv-in-c", func() { C.crash() })
	suite("ignores-sigterm", func() { C.deaf() })
	suite("exits", func() { os.Exit(0) })
	suite("killed", func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) })
	suite("terminated", func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		time.Sleep(10 * time.Second)
	})
	suite("grandchild", func() {
		// It outlives the child, and holds all its pipes.
		c := exec.Command("sleep", "60")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		c.ExtraFiles = []*os.File{os.NewFile(3, "messages")}
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if c.Start() == nil {
			os.Exit(3)
		}
	})
	suites["proof"] = func() { // what others rest on crashes on gpu2, and gpu3 is lost
		innocents()
		fixtures.Specify("mini/aproof", fixtures.GPUs, nil, "crashes on gpu2", func(g *fixtures.GPU) {
			if g.Slot == 2 {
				C.crash()
			}
		}, fixtures.Proving(fixtures.CUDA))
		fixtures.Specify("mini/bad", fixtures.OrderedPairs, nil, "finds gpu3 lost", func(p *fixtures.Pair) {
			if p.To.Slot == 3 {
				fixtures.Error("gpu-lost", "gpu3 is lost: 15")
			}
		})
	}
	suites["hangs"] = func() { // all with gpu1, and gpu2 with itself
		innocents()
		fixtures.Specify("mini/bad", fixtures.OrderedPairs, nil, "hangs with gpu1", func(p *fixtures.Pair) {
			if p.From.Slot == 1 || p.To.Slot == 1 {
				C.hang()
			}
		})
		for _, id := range []string{"mini/own-a", "mini/own-b", "mini/own-c", "mini/own-d"} {
			fixtures.Specify(id, fixtures.GPUs, nil, "crashes on gpu2", func(g *fixtures.GPU) {
				if g.Slot == 2 {
					C.crash()
				}
			})
		}
	}
}
