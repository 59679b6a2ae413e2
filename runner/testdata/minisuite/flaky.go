package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/peerproof/peerproof/fixtures"
)

// runOf is the number of this run of a spec, over all processes, by what is in
// the file that MINISUITE_STATE names.
func runOf(spec string) int {
	state := os.Getenv("MINISUITE_STATE")
	text, err := os.ReadFile(state)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err)
	}
	text = append(text, spec+"\n"...)
	if err := os.WriteFile(state, text, 0o600); err != nil {
		panic(err)
	}
	return strings.Count(string(text), spec+"\n")
}

func init() {
	// flaky behaves on gpu4->gpu1 as its runs say, in order.
	flaky := func(name string, runs []func(), options ...fixtures.Option) {
		suites[name] = func() {
			innocents()
			fixtures.Area("last", 4)
			fixtures.Specify("mini/bad", fixtures.OrderedPairs, nil, "is bad on one pair", func(p *fixtures.Pair) {
				By("looking at " + p.String())
				if p.String() == "gpu4->gpu1" {
					run := runOf(p.String())
					p.Record("run", float64(run), "runs")
					runs[min(run, len(runs))-1]()
				}
			}, append(options, fixtures.Needs())...)
			fixtures.Specify("last/derived", fixtures.OrderedPairs, nil, "judges what it measured", func(p *fixtures.Pair) {
				if p.String() == "gpu4->gpu1" {
					fixtures.Fail("as-always", "derived run %d", runOf("derived"))
				}
			}, fixtures.From("mini/bad"), fixtures.Needs())
			fixtures.Specify("last/run", fixtures.Whole, nil, "comes last", func(*fixtures.Node) {
				fixtures.Fail("as-always", "last run %d after %d", runOf("last"), runOf("gpu4->gpu1")-1)
			}, fixtures.AtTheEnd, fixtures.Needs())
		}
	}
	good := func() {}
	bad := func() { Expect(1).To(Equal(2)) }
	crash := func() { os.Exit(0) }
	slow := func() {
		By("taking its time")
		time.Sleep(1500 * time.Millisecond)
		bad()
	}
	flaky("flaky", []func(){bad, good, good})
	flaky("flaky-alone", []func(){bad, good, good}, fixtures.Isolated)
	flaky("crashes", []func(){crash})
	flaky("crash-then-fail", []func(){crash, bad, good})
	flaky("slow-repeats", []func(){bad, slow, bad})
	suites["unfit"] = func() { // what others rest on crashes once
		innocents()
		fixtures.Specify("mini/aproof", fixtures.GPUs, nil, "crashes on gpu2, once", func(g *fixtures.GPU) {
			if g.Slot == 2 && runOf("aproof") == 1 {
				crash()
			}
		}, fixtures.Needs(fixtures.CUDA), fixtures.Proving(fixtures.CUDA))
		fixtures.Specify("mini/bad", fixtures.GPUs, nil, "needs it", func(*fixtures.GPU) {}, fixtures.Needs(fixtures.CUDA))
	}
}
