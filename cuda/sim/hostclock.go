package sim

// How long the host waits for calls that map memory, in seconds.
const (
	enableSeconds  = 350e-6
	disableSeconds = 250e-6
)

// clock is the time that the host has seen pass. Queueing takes it none.
func (p *process) clock() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// spend lets the host wait for a call between two GPUs.
func (p *process) spend(a, b *gpu, seconds float64) {
	key := sampleKey{driver: a.index, other: b.index}
	p.now += seconds * p.noise(key, p.samples[key])
	p.samples[key]++
}
