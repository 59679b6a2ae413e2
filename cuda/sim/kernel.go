package sim

import (
	"unsafe"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/cuda/kernels"
)

// kernelBodies are the kernels that a simulated GPU can run, by name.
var kernelBodies = map[string]func(*launch){
	kernels.Fill:         (*launch).fill,
	kernels.Verify:       (*launch).verify,
	kernels.Copy:         (*launch).copy,
	kernels.Add:          (*launch).add,
	kernels.Gate:         (*launch).gate,
	kernels.Load:         (*launch).load,
	kernels.Chain:        (*launch).chain,
	kernels.Chase:        (*launch).chase,
	kernels.PingPong:     (*launch).pingpong,
	kernels.Litmus:       (*launch).litmus,
	kernels.TestPattern:  (*launch).pattern,
	kernels.CheckPattern: (*launch).check,
	kernels.Product:      (*launch).product,
}

// launch is one run of a kernel.
type launch struct {
	p       *process
	stream  *stream
	args    []uint64
	blocks  uint64 // of the grid
	threads uint64 // in all
	beside  []span // what it touches
	illegal bool   // it touches what is nowhere
}

func (p *process) launchKernel(fn uintptr, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes uint32, handle uintptr, params *unsafe.Pointer, extra unsafe.Pointer) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		f, ok := object[*function](p, fn)
		s, isStream := p.stream(c, handle)
		if !ok || !isStream || s.context != c || f.module.context != c {
			return cuda.ErrInvalidHandle
		}
		threads := uint64(blockX) * uint64(blockY) * uint64(blockZ)
		const sharedLimit = 48 << 10 // of a kernel that asks for no more
		if gridX == 0 || gridY == 0 || gridZ == 0 || threads == 0 || threads > 1024 || sharedBytes > sharedLimit || params == nil || extra != nil {
			return cuda.ErrInvalidValue
		}
		var args []uint64
		for _, at := range unsafe.Slice(params, kernels.Params[f.name]) {
			if at == nil {
				return cuda.ErrInvalidValue
			}
			args = append(args, *(*uint64)(at))
		}
		blocks := uint64(gridX) * uint64(gridY) * uint64(gridZ)
		p.do(s, func(s *stream) {
			kernelBodies[f.name](&launch{p: p, stream: s, args: args, blocks: blocks, threads: blocks * threads})
		})
		return cuda.Success
	})
}

// span is memory that the kernel touches. Where there is none, or it may not,
// the launch has no effect.
func (l *launch) span(ptr, bytes uint64) span {
	m, ok := l.p.find(cuda.DevicePtr(ptr), bytes)
	if ok {
		l.beside = append(l.beside, m)
	} else {
		l.illegal = true
	}
	return m
}

// gpu is the number of the GPU that runs the kernel.
func (l *launch) gpu() int { return l.stream.context.gpu.index }

// begin starts an operation of the kernel, unless the kernel is illegal.
func (l *launch) begin(o *operation) bool {
	o.stream, o.sm, o.beside = l.stream, true, l.beside
	if l.illegal {
		o.reads, o.writes, o.beside = nil, nil, nil
		if l.p.begin(o) {
			l.p.fault(l.stream.context.gpu)
		}
		return false
	}
	return l.p.begin(o)
}

func (l *launch) fill() {
	ptr, bytes, seed, origin := l.args[0], l.args[1], l.args[2], l.args[3]
	if bytes == 0 {
		return
	}
	dst := l.span(ptr, bytes)
	o := &operation{writes: []span{dst}}
	if l.begin(o) {
		l.p.store(o, dst, l.p.damageTo(o, &dst, nil), func(b []byte) { fillPattern(b, seed, origin) })
	}
	if !l.illegal {
		l.p.timeStore(o, dst)
	}
}

// loaded is what a kernel that looks at memory finds there. Stale bytes come to
// it as zeros: what a cache held before anybody wrote.
func (l *launch) loaded(o *operation, src span) []byte {
	seen := src.seenBy(l.gpu())
	d := l.p.damageTo(o, nil, &src)
	if d.none(src.n) {
		return seen
	}
	damaged := make([]byte, src.n)
	copy(damaged[:d.arrives], seen)
	for _, f := range d.flips {
		damaged[f.at] ^= 1 << f.bit
	}
	return damaged
}

// result writes what a kernel found out to memory of the caller's.
func (l *launch) result(o *operation, m span, write func([]byte)) {
	l.p.store(o, m, damage{arrives: m.n}, write)
}

func (l *launch) verify() {
	ptr, bytes, seed, origin, result := l.args[0], l.args[1], l.args[2], l.args[3], l.args[4]
	if bytes == 0 {
		return
	}
	src, sum := l.span(ptr, bytes), l.span(result, 16)
	o := &operation{reads: []span{src}}
	if l.begin(o) {
		wrong, first := verifyPattern(l.loaded(o, src), seed, origin)
		l.result(o, sum, func(b []byte) {
			put(b, get(b)+wrong)
			put(b[8:], min(get(b[8:]), first))
		})
	}
	if !l.illegal {
		l.p.timeStore(o, src)
	}
}

func (l *launch) copy() {
	to, from, bytes := l.args[0], l.args[1], l.args[2]
	if bytes == 0 {
		return
	}
	dst, src := l.span(to, bytes), l.span(from, bytes)
	o := &operation{reads: []span{src}, writes: []span{dst}}
	if l.begin(o) {
		l.p.move(o, dst, src)
	}
	if !l.illegal {
		l.p.timeCopy(o, dst.gpu, src.gpu, bytes)
	}
}

// gate holds its stream until the host sets a flag, which takes no virtual
// time: whatever is queued behind a gate starts when the host next waits. What
// comes after it up to the next event is warm-up.
func (l *launch) gate() {
	l.span(l.args[0], 4) // faults where the flag is out of reach
	l.begin(&operation{})
	l.stream.timed = false
	clear(l.stream.groups)
}

// load keeps the SMs busy for so many nanoseconds of virtual time.
func (l *launch) load() {
	out := l.span(l.args[0], 8)
	o := &operation{writes: []span{out}}
	if l.begin(o) {
		l.result(o, out, func(b []byte) { put(b, mix(l.args[1])) })
		l.p.takes(float64(l.args[1])/1e9, l.stream)
	}
}
