package sim

import (
	"math"
	"slices"
)

// route is a way that NCCL takes between two ranks: direct, from the kernel of
// the one into the memory of the other, or through the host.
type route struct {
	from, to *communicator
	direct   bool
}

// ncclShare is what NCCL's kernels reach of a copy engine's rate on the same
// path: bus bandwidth over NVLink is then 0.8 of theory, as nccl-tests shows on
// HGX nodes.
const ncclShare = 0.91

// ncclStart is what a small collective takes, in seconds.
const ncclStart = 10e-6

func (p *process) route(a, b *communicator) route {
	return route{a, b, a == b || !*p.noP2P && p.canAccess(a.gpu, b.gpu)}
}

// rate is what a route carries, without its faults, in bytes a second.
func (r route) rate(p *process) float64 {
	switch {
	case r.from == r.to:
		return p.localRate() / 2
	case r.direct:
		return p.directRate(r.from.gpu, r.to.gpu) * ncclShare
	}
	return min(r.from.gpu.loaded.rate(), r.to.gpu.loaded.rate()) * p.file.efficiency.staged * ncclShare
}

// routes are those that a clique uses. Where all pairs are alike, its channels
// spread over all of them; else it forms the ring, in both directions, whose
// slowest part is fastest.
func (p *process) routes(comms []*communicator) []route {
	var all []route
	for _, a := range comms {
		for _, b := range comms {
			if a != b {
				all = append(all, p.route(a, b))
			}
		}
	}
	if len(all) == 0 || !slices.ContainsFunc(all, func(r route) bool { return r.rate(p) != all[0].rate(p) }) {
		return all
	}
	ring := p.ring(comms)
	var used []route
	for i, a := range ring {
		b := ring[(i+1)%len(ring)]
		used = append(used, p.route(a, b), p.route(b, a))
	}
	return used
}

// ring puts ranks in the order whose slowest neighbours are fastest. Many are
// left in their own order.
func (p *process) ring(comms []*communicator) []*communicator {
	const most = 8 // for which all orders can be tried
	if len(comms) > most {
		return comms
	}
	best, fastest := comms, -1.0
	var extend func(order []*communicator, slowest float64)
	extend = func(order []*communicator, slowest float64) {
		last := order[len(order)-1]
		if len(order) == len(comms) {
			if slowest = min(slowest, p.route(last, order[0]).rate(p)); slowest > fastest {
				best, fastest = slices.Clone(order), slowest
			}
			return
		}
		for _, next := range comms {
			if rate := min(slowest, p.route(last, next).rate(p)); rate > fastest && !slices.Contains(order, next) {
				extend(append(order, next), rate)
			}
		}
	}
	extend(slices.Clone(comms[:1]), math.Inf(1))
	return best
}

// routesOf are those of one operation.
func (p *process) routesOf(o *collective) []route {
	if o.what == sending {
		return []route{p.route(o.parts[0].comm, o.parts[1].comm)}
	}
	return o.parts[0].comm.clique.routes
}

// collectiveSeconds is how long an operation takes: as long as the slowest of
// its routes needs for what every rank passes on.
func (p *process) collectiveSeconds(o *collective, routes []route) float64 {
	first := o.parts[0]
	key := sampleKey{driver: first.comm.gpu.index, other: o.parts[len(o.parts)-1].comm.gpu.index, engine: meetings + engine(o.what) + 1}
	number := p.sample(first.stream, key)
	n := float64(len(o.parts))
	bytes := float64(first.count * first.kind.Size())
	passed := bytes
	switch o.what {
	case allReduce:
		passed *= 2 * (n - 1) / n
	case allGather, reduceScatter:
		passed *= n - 1
	case sending, receiving:
	}
	rate := math.Inf(1)
	for _, r := range routes {
		rate = min(rate, r.rate(p)*p.slowed(o, r, len(routes), number))
	}
	if len(o.parts) == 1 {
		passed, rate = bytes, p.localRate()/2
	}
	seconds := passed / rate
	if bytes < pipelined {
		seconds = max(seconds, ncclStart)
	}
	return seconds / p.noise(key, number)
}

// slowed is the factor of slow faults on a route. Beside it the others are used
// at the same time, in both directions.
func (p *process) slowed(o *collective, r route, routes, sample int) float64 {
	factor := 1.0
	from := o.parts[slices.IndexFunc(o.parts, func(t *part) bool { return t.comm == r.from })]
	k := &operation{stream: from.stream, sm: true, writes: []span{o.partOf(r.to).recv}}
	for _, ft := range p.faultsOf(k, "slow") {
		shows := map[string]bool{
			"always": true, "sample": ft.when.sample == sample, "bidirectional": routes > 1, "concurrent": routes > 2,
		}
		if shows[ft.when.kind] && (r.direct || ft.gpu >= 0) {
			factor *= ft.factor
		}
	}
	return factor
}
