package sim

import "slices"

// What a GPU may do with memory, as CU_MEM_ACCESS_FLAGS_PROT_* count it.
const (
	mayNothing int32 = 0
	mayRead    int32 = 1
	mayWrite   int32 = 3 // and read
)

// mayTouch says that kernels of a context may touch a GPU's memory.
func (p *process) mayTouch(c *context, owner *gpu) bool {
	return owner == c.gpu || p.hasAccess(c, owner) || p.hasPairFault("leaky-access", c.gpu, owner)
}

// hasAccess says that access to a GPU's memory is enabled.
func (p *process) hasAccess(c *context, owner *gpu) bool {
	return owner.primary != nil && slices.Contains(c.peers, owner.primary)
}

// mayReach says that a context's kernels may touch an allocation: as it was
// granted, or as peer access lets them.
func (p *process) mayReach(c *context, m *allocation, write bool) bool {
	if m.gpu == host {
		return true
	}
	owner := p.gpus[m.gpu]
	switch {
	case owner.lost:
		return false
	case p.hasPairFault("leaky-access", c.gpu, owner):
		return true
	case m.granted == nil:
		return p.mayTouch(c, owner)
	}
	allowed := mayRead
	if write {
		allowed = mayWrite
	}
	return m.granted[c.gpu.index] >= allowed || m.origin == imported && p.mayTouch(c, owner)
}

// isDirect says that a copy engine of a context has a direct way to memory.
func (p *process) isDirect(c *context, m *allocation) bool {
	if m.gpu == host || m.gpu == c.gpu.index {
		return true
	}
	owner := p.gpus[m.gpu]
	return p.reaches(c.gpu, owner) && (p.hasAccess(c, owner) || m.granted[c.gpu.index] > mayNothing)
}

// closed says that memory was granted to others than a context: no copy engine
// of its may work on it, not even through the host.
func (p *process) closed(c *context, m *allocation, write bool) bool {
	return m.granted != nil && !p.mayReach(c, m, write)
}
