package sim

import "github.com/peerproof/peerproof/cuda/kernels"

// add counts, atomically among all GPUs, unless lost-update says that the
// atomics of this GPU on that memory are none: then some of what its threads
// add at the same time is lost.
func (l *launch) add() {
	counter, times := l.args[0], l.args[1]
	m := l.span(counter, 8)
	o := &operation{writes: []span{m}}
	n := l.threads * times
	if l.begin(o) && n > 0 {
		before := get(m.seenBy(l.gpu()))
		if m.gpu != host && m.gpu != l.gpu() && n > 1 && l.p.hasPairFault("lost-update", l.stream.context.gpu, l.p.gpus[m.gpu]) {
			n -= max(1, n/8+mix(n)%(n/8+1))
		}
		l.p.store(o, m, l.p.damageTo(o, &m, nil), func(b []byte) {
			var sum [8]byte
			put(sum[:], before+n)
			copy(b, sum[:])
		})
	}
	if !l.illegal {
		// All go to one word, which its owner's cache changes once a clock or so.
		const each = nanosecond
		l.p.takes((l.p.latency(l.gpu(), m.gpu).load+float64(l.threads*times)*each)*l.p.jitter(o), l.stream)
	}
}

const (
	// As product.cu has them: chains of a thread; results that a warp compares
	// after at most so many rounds.
	productChains   = 8
	productResults  = 4 * 16 * 16
	productRounds   = 4096
	productMaxWarps = 8 // of a block
)

// product counts its results. Where wrong-result makes this GPU's arithmetic
// wrong, a few of them are.
func (l *launch) product() {
	kind, rounds, seed, reference, out := l.args[0], l.args[1], l.args[2], l.args[3], l.args[4]
	sum := l.span(out, 16)
	o := &operation{writes: []span{sum}}
	pr := &l.p.file.product
	// Single precision multiply-adds of all SMs in a second, with 64 lanes each
	// in Volta, Turing and the A100's chip, else 128; tensor cores of the same
	// generation do about sixteen times that.
	lanes := 128.0
	if pr.major == 7 || pr.major == 8 && pr.minor == 0 {
		lanes = 64
	}
	rate := float64(pr.sms) * lanes * 2 * float64(pr.smMHz) * 1e6
	checked, flops := l.threads*productChains, l.threads*rounds*kernels.ProductFP32Flops
	if kind != kernels.ProductFP32 {
		warps := l.blocks * min(l.threads/l.blocks/32, productMaxWarps)
		checked = warps * productResults * ((rounds + productRounds - 1) / productRounds)
		flops, rate = warps*rounds*kernels.ProductTensorFlops, rate*16
	}
	if l.begin(o) {
		var wrong uint64
		switch {
		case seed != reference:
			wrong = checked
		case l.stream.context.gpu.fault("wrong-result") != nil:
			wrong = min(checked, 1+checked>>12)
		}
		l.result(o, sum, func(b []byte) {
			put(b, get(b)+wrong)
			put(b[8:], get(b[8:])+checked)
		})
	}
	if !l.illegal {
		l.p.takes(float64(flops)/rate*l.p.jitter(o), l.stream)
	}
}
