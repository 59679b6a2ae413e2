package sim

import (
	"fmt"
	"testing"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/kernels"
)

// BenchmarkMemoryPatterns writes and checks 61 MiB, 95 % of a simulated GPU.
func BenchmarkMemoryPatterns(b *testing.B) {
	const bytes = 61 << 20
	l := newLab(b, "version: 1\ngpus: {count: 1}\n")
	m, sum := l.alloc(0, bytes), l.alloc(0, 24)
	for kind := range uint64(kernels.TestKinds) {
		b.Run(fmt.Sprint("kind ", kind), func(b *testing.B) {
			b.SetBytes(2 * bytes)
			for b.Loop() {
				l.launch(0, kernels.TestPattern, uint64(m.Ptr()), bytes, kind, 1)
				l.launch(0, kernels.CheckPattern, uint64(m.Ptr()), bytes, kind, 1, uint64(sum.Ptr()))
				l.sync(0)
			}
		})
	}
}

// BenchmarkLitmus runs a million rounds of message passing.
func BenchmarkLitmus(b *testing.B) {
	l := newLab(b, "version: 1\ngpus: {count: 2}\n")
	l.enableAll()
	for b.Loop() {
		l.litmus(kernels.LitmusMessagePassing, false, 0, 1, 1, 1, 1<<20)
	}
}

// BenchmarkPingPong runs a million rounds.
func BenchmarkPingPong(b *testing.B) {
	l := newLab(b, "version: 1\ngpus: {count: 2}\n")
	l.enableAll()
	for b.Loop() {
		m := l.newMatch(0, 1)
		m.rounds, m.deadline = 1<<20, 1e10
		l.serve(m)
		l.answer(m)
		l.results(m)
		for _, p := range []*cuda.Buffer{m.flagA, m.flagB, m.resultA, m.resB} {
			l.must(p.Close())
		}
		l.must(m.ready.Close())
	}
}

// BenchmarkAllReduce reduces 8 MiB of four GPUs.
func BenchmarkAllReduce(b *testing.B) {
	const bytes = 8 << 20
	l := newLab(b, nccl4)
	lib, comms := l.comms(0, 1, 2, 3)
	var buffers []*cuda.Buffer
	for r := range comms {
		buffers = append(buffers, l.alloc(r, bytes))
	}
	b.SetBytes(4 * bytes)
	for b.Loop() {
		l.each(lib, comms, func(c *cuda.Communicator) error {
			return c.AllReduce(buffers[c.Rank], buffers[c.Rank], bytes/4, cuda.NCCLFloat32, cuda.NCCLSum, l.streams[c.Rank])
		})
	}
}

// BenchmarkRace times sixteen streams of forty copies, each in the way of others.
func BenchmarkRace(b *testing.B) {
	l := newLab(b, node(gpus(4, "NVIDIA L40S"), "faults: [{kind: slow, pair: all, factor: 0.9, when: concurrent}]"))
	l.enableAll()
	src, dst := l.alloc(0, 1<<20), l.alloc(1, 1<<20)
	var streams []*cuda.Stream
	for range 16 {
		streams = append(streams, get1(l.ctx[0].NewStream())(b))
	}
	for b.Loop() {
		for range 40 {
			for _, s := range streams {
				l.must(s.CopyPeer(dst, 0, src, 0, 1<<20))
			}
		}
		l.must(l.ctx[0].Synchronize())
	}
}
