package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/peerproof/peerproof/report"
)

// gap is a spec that ends in one way on the server and in another on a
// simulated node of the same shape.
type gap struct {
	spec            string
	seen, simulated string
}

// gaps compares verdict, code and message; figures within a message may differ.
func gaps(seen, simulated *report.Results) (all []gap) {
	there := map[string]*report.Spec{}
	for i := range simulated.Specs {
		there[simulated.Specs[i].ID] = &simulated.Specs[i]
	}
	for i := range seen.Specs {
		s := &seen.Specs[i]
		other := there[s.ID]
		delete(there, s.ID)
		switch {
		case other == nil:
			all = append(all, gap{s.ID, ending(s), "no such spec"})
		case s.Verdict != other.Verdict || s.Code != other.Code || shape(s.Message) != shape(other.Message):
			all = append(all, gap{s.ID, ending(s), ending(other)})
		}
	}
	for i := range simulated.Specs {
		if s := &simulated.Specs[i]; there[s.ID] != nil {
			all = append(all, gap{s.ID, "no such spec", ending(s)})
		}
	}
	return all
}

func ending(s *report.Spec) string {
	text := strings.TrimSpace(string(s.Verdict) + " " + s.Code)
	if s.Message != "" {
		text += ": " + s.Message
	}
	return text
}

// ratio is how far a check's figures are from the simulation's.
type ratio struct {
	figure        string // check, name and unit
	specs         int
	least, middle float64 // seen over simulated
	most          float64
}

// ratios are of all figures that both runs have, in the order of the plan.
func ratios(seen, simulated *report.Results) []ratio {
	there := map[string]float64{}
	for i := range simulated.Specs {
		for _, m := range simulated.Specs[i].Measurements {
			there[simulated.Specs[i].ID+" "+m.Name+", "+m.Unit] = m.Value
		}
	}
	all := map[string][]float64{}
	var order []string
	for i := range seen.Specs {
		s := &seen.Specs[i]
		for _, m := range s.Measurements {
			r := m.Value / there[s.ID+" "+m.Name+", "+m.Unit]
			if !(r > 0) || math.IsInf(r, 0) || m.Unit == "rounds" {
				continue
			}
			key := s.Check() + ": " + shape(m.Name) + ", " + m.Unit
			if all[key] == nil {
				order = append(order, key)
			}
			all[key] = append(all[key], r)
		}
	}
	out := make([]ratio, 0, len(order))
	for _, key := range order {
		v := all[key]
		slices.Sort(v)
		out = append(out, ratio{key, len(v), v[0], (v[(len(v)-1)/2] + v[len(v)/2]) / 2, v[len(v)-1]})
	}
	return out
}

// differences is the page of both.
func differences(all []gap, figures []ratio, seen, simulated *run) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The server beside a simulated node of its shape\n\nSeen: %s%s, run %s. Simulated: %s, run %s.\n\n",
		cell(seen.Run.Host), seen.marks(), cell(seen.Run.ID), cell(simulated.Run.Node), cell(simulated.Run.ID))
	fmt.Fprintf(&b, "%d of %d specs end otherwise: by verdict, code or message, figures aside.\n", len(all), len(seen.Specs))
	if len(all) > 0 {
		b.WriteString("\n| spec | seen | simulated |\n|---|---|---|\n")
	}
	for _, g := range all {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(g.spec), cell(g.seen), cell(g.simulated))
	}
	b.WriteString("\n## Figures, seen over simulated\n\nThey are no faults: the model's rates are fractions of theory.\n")
	if len(figures) > 0 {
		b.WriteString("\n| figure | of | least | median | most |\n|---|---:|---:|---:|---:|\n")
	}
	for _, r := range figures {
		fmt.Fprintf(&b, "| %s | %d | %.2f | %.2f | %.2f |\n", cell(r.figure), r.specs, r.least, r.middle, r.most)
	}
	return b.String()
}
