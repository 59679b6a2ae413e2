package report

import "github.com/peerproof/peerproof/fixtures/profile"

// paths fills each pair's path class, from the inventory and the profile of
// the run, as the specs did.
func (b *builder) paths() {
	if b.node == nil {
		return
	}
	var expected *profile.Profile
	if b.run.ProfileText != "" {
		p, err := profile.Parse(b.run.Profile, []byte(b.run.ProfileText))
		if err != nil {
			b.warn("the profile in the journal cannot be read, paths are named without it: %v", err)
		}
		expected = p
	}
	known := map[[2]int]string{}
	for i := range b.results.Specs {
		s := &b.results.Specs[i]
		if s.Subject == nil || s.Subject.GPU != "" {
			continue
		}
		from, ok := slot(s.Subject.From)
		to, also := slot(s.Subject.To)
		if !ok || !also || b.node.BySlot(from) == nil || b.node.BySlot(to) == nil {
			continue
		}
		pair := [2]int{from, to}
		if _, ok := known[pair]; !ok {
			known[pair] = expected.Path(b.node, from, to).Class
		}
		s.Path = known[pair]
	}
}
