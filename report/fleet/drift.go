package fleet

import (
	"cmp"
	"slices"
	"strings"
)

// drift names the versions that differ among servers, and who has which. What
// a server does not tell is not compared.
func drift(runs []*Run) []Drift {
	type holder struct {
		run   *Run
		parts []string
	}
	values := map[string]map[string][]holder{} // by what, by value
	for _, run := range runs {
		for _, f := range run.facts {
			if values[f.what] == nil {
				values[f.what] = map[string][]holder{}
			}
			held := values[f.what][f.value]
			if n := len(held); n == 0 || held[n-1].run != run {
				held = append(held, holder{run: run})
			}
			if last := &held[len(held)-1]; f.part != "" {
				last.parts = append(last.parts, f.part)
			}
			values[f.what][f.value] = held
		}
	}
	all := []Drift{}
	for what, held := range values {
		if len(held) < 2 {
			continue
		}
		d := Drift{What: what}
		for value, holders := range held {
			v := Value{Value: value, Servers: len(holders)}
			for _, h := range holders {
				name := h.run.Info.Host
				if len(h.parts) > 0 {
					name += " (" + strings.Join(h.parts, ", ") + ")"
				}
				v.Hosts = append(v.Hosts, name)
			}
			d.Values = append(d.Values, v)
		}
		slices.SortFunc(d.Values, func(a, b Value) int { return cmp.Or(b.Servers-a.Servers, cmp.Compare(a.Value, b.Value)) })
		d.Tied = d.Values[0].Servers == d.Values[1].Servers
		if !d.Tied {
			d.Values[0].Hosts = nil
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Drift) int { return cmp.Compare(a.What, b.What) })
	return all
}
