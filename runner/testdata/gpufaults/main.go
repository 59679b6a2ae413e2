// Command gpufaults is peerproof with a suite that does to a GPU, on purpose,
// what broken hardware and broken programs do: an illegal address, a kernel
// that never ends, a killed process. Specs before, between and after them must
// pass. It is run by hand on a real GPU:
//
//	go build -o bin/gpufaults ./runner/testdata/gpufaults
//	bin/gpufaults run --timeout 10s
package main

import (
	"os"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/runner/cli"
)

var (
	_ = fixtures.Area("fault", 1, "fine-before", "illegal-address", "fine-after-fault", "endless", "fine-after-hang", "killed", "fine-after-kill")

	_ = fixtures.Specify("fault/fine-before", fixtures.GPUs, Label(), "memory holds what was written", fine)
	_ = fixtures.Specify("fault/fine-after-fault", fixtures.GPUs, Label(), "memory holds what was written", fine)
	_ = fixtures.Specify("fault/fine-after-hang", fixtures.GPUs, Label(), "memory holds what was written", fine)
	_ = fixtures.Specify("fault/fine-after-kill", fixtures.GPUs, Label(), "memory holds what was written", fine)

	_ = fixtures.Specify("fault/illegal-address", fixtures.GPUs, Label(), "a store to address 4096 is refused", func(g *fixtures.GPU) {
		By("storing to address 4096")
		g.Must(g.TryLaunch("fill", 4096, 8, 1, 0))
	})
	_ = fixtures.Specify("fault/endless", fixtures.GPUs, Label(), "a kernel ends", func(g *fixtures.GPU) {
		By("launching a kernel that runs for a century")
		g.Must(g.TryLaunch("load", g.Sink().Address(), 1<<61))
	})
	_ = fixtures.Specify("fault/killed", fixtures.GPUs, Label(), "the process lives", func(g *fixtures.GPU) {
		By("killing this process")
		Expect(syscall.Kill(os.Getpid(), syscall.SIGKILL)).To(Succeed())
		select {}
	})
)

func fine(g *fixtures.GPU) {
	b := g.Sink()
	b.Fill(7)
	Expect(b).To(fixtures.HoldPattern(7))
}

func main() { os.Exit(cli.Main(os.Args[1:])) }
