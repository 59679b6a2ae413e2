package main

import (
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/fixtures"
)

func init() {
	suite("skip-without-code", func() { Skip("not today") })
	suite("panic", func() { panic(errors.New("body gone wild")) })
	suite("fails", func() { Expect(1).To(Equal(2)) })
	suite("fails-in-cleanup", func() { DeferCleanup(func() { Fail("in cleanup") }) })
	suite("fails-then-errs", func() {
		DeferCleanup(func() { fixtures.Error("cuda-error", "not given back") })
		fixtures.Fail("data-mismatch", "3 bytes")
	})
	onePair("fails-then-sticky", func(p *fixtures.Pair) {
		DeferCleanup(func() {
			p.Must(&cuda.Error{Op: "cuMemFree", Code: cuda.ErrIllegalAddress, Device: -1})
		})
		fixtures.Fail("data-mismatch", "3 bytes")
	})
	suite("late-fail", func() {
		go func() {
			defer GinkgoRecover()
			time.Sleep(2 * time.Second)
			Fail("too late")
		}()
	})
	suite("soon-fail", func() { // within the patience that a leaked goroutine is given
		go func() {
			defer GinkgoRecover()
			time.Sleep(15 * time.Millisecond)
			Fail("a bit too late")
		}()
	})
	suite("late-panic", func() {
		go func() {
			time.Sleep(15 * time.Millisecond)
			panic("nobody recovers me")
		}()
	})
	suite("node-timeout", func() {}, fixtures.Around(func() {
		BeforeEach(func(ctx SpecContext) {
			if CurrentSpecReport().LeafNodeText == "mini/bad[gpu4->gpu1]" {
				time.Sleep(2 * time.Second)
			}
		}, NodeTimeout(50*time.Millisecond), GracePeriod(10*time.Millisecond))
	}))
	suite("aborts", func() { AbortSuite("stop everything") })
	suite("tree-panic", func() {}, fixtures.Around(func() { panic("no tree today") }))
	suite("tree-error", func() {}, fixtures.Around(func() { AddReportEntry("not while the tree is built") }))
	suite("tree-exit", func() {}, fixtures.Around(func() {
		Describe("inside", func() { panic("Ginkgo ends the process for this") })
	}))
	suites["twice"] = func() {
		onOne(func(*fixtures.Pair) {})
		fixtures.Specify("mini/bad", fixtures.Whole, nil, "is declared elsewhere too", func(*fixtures.Node) {})
	}
	suites["focused"] = func() { // a focus leaves the specs of the plan out
		innocents()
		fixtures.Specify("mini/bad", fixtures.GPUs, nil, "is crowded out", func(*fixtures.GPU) {}, fixtures.Needs(),
			fixtures.Around(func() { FIt("a guest", func() {}) }))
	}
	suites["sleepy"] = func() { // long enough for somebody to interfere
		innocents()
		fixtures.Specify("mini/bad", fixtures.GPUs, nil, "sleeps on gpu1", func(g *fixtures.GPU) {
			By("sleeping")
			if g.Slot == 1 {
				time.Sleep(1500 * time.Millisecond)
			}
		}, fixtures.Needs())
	}
	suites["failing"] = func() {
		innocents()
		fixtures.Specify("mini/bad", fixtures.OrderedPairs, nil, "fails", func(*fixtures.Pair) {
			Fail("as asked")
		}, fixtures.Needs())
	}
	suites["required"] = func() {
		innocents()
		onOne(func(*fixtures.Pair) { fixtures.Skip("not-supported", "this node has none") })
	}
}
