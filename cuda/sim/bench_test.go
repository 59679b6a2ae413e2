package sim

import "testing"

// BenchmarkCopy is a peer copy whose bytes really move: the source was written
// before. BenchmarkCopyAgain is one that only advances the clock.
func BenchmarkCopy(b *testing.B) { benchmarkCopy(b, true) }

func BenchmarkCopyAgain(b *testing.B) { benchmarkCopy(b, false) }

func benchmarkCopy(b *testing.B, write bool) {
	const bytes = 8 << 20
	r := open(b, "version: 1\ngpus: {count: 2, memory: 64MiB}\nnvlink: {switch: {}}\n", History{})
	r.enable(0, 1)
	src, dst := r.alloc(0, bytes), r.alloc(1, bytes)
	b.SetBytes(bytes)
	for b.Loop() {
		if write {
			r.on(0)
			r.ok(r.api.MemsetD8Async(src, 1, 1, 0))
		}
		r.ok(r.move(ways[1], 0, 1, dst, src, bytes, 0))
		r.ok(r.api.CtxSynchronize())
	}
}

// BenchmarkParseAndOpen is what every child of a run pays.
func BenchmarkParseAndOpen(b *testing.B) {
	for _, name := range []string{"hgx-h200-8", "nvl72"} {
		b.Run(name, func(b *testing.B) {
			f, err := Load(name)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				f, err := Parse(name, []byte(f.Text()))
				if err != nil {
					b.Fatal(err)
				}
				if f.Open(History{}).NVML == nil {
					b.Fatal("no NVML")
				}
			}
		})
	}
}
