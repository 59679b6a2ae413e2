package fleet

import (
	"cmp"
	"slices"
	"strings"

	"github.com/peerproof/peerproof/fixtures/verdict"
)

// Exit codes of the command.
const (
	exitGood    = 0
	exitBad     = 1
	exitNothing = 5
)

// Build makes the report. The order of the folders does not matter.
func Build(set *Set, o Options) *Report {
	r := &Report{Version: Version, Tool: o.Tool, Made: o.Now, Groups: []Group{}, Skipped: slices.Clone(set.skipped)}
	if r.Skipped == nil {
		r.Skipped = []Skipped{}
	}
	slices.SortFunc(r.Skipped, func(a, b Skipped) int { return cmp.Or(cmp.Compare(a.Dir, b.Dir), cmp.Compare(a.Reason, b.Reason)) })
	byMarks := map[string][]*Run{}
	for _, run := range set.runs {
		byMarks[run.Info.Marks()] = append(byMarks[run.Info.Marks()], run)
	}
	var marks []string
	for m := range byMarks {
		marks = append(marks, m)
	}
	slices.Sort(marks) // "" first: the real ones
	r.Exit = exitNothing
	for _, m := range marks {
		g := group(m, byMarks[m], set.series, o)
		r.Groups = append(r.Groups, g)
		switch {
		case g.Verdicts.Fail+g.Verdicts.Error+len(g.Outliers) > 0:
			r.Exit = exitBad
		case g.Verdicts.Pass > 0 && r.Exit == exitNothing:
			r.Exit = exitGood
		}
	}
	return r
}

// group makes the report of the runs with the same marks.
func group(marks string, runs []*Run, series *catalogue, o Options) Group {
	g := Group{Marks: marks, Servers: []Server{}}
	current := g.current(runs)
	slices.SortFunc(current, func(a, b *Run) int {
		return cmp.Or(cmp.Compare(a.Info.Host, b.Info.Host), cmp.Compare(a.serial, b.serial), cmp.Compare(a.Dir, b.Dir))
	})
	g.Moved = moved(current)
	g.Failures = failures(current)
	g.Drift = drift(current)
	g.compare(current, series)
	found := map[string]map[string]bool{} // places by folder
	for i := range g.Outliers {
		at := &g.Outliers[i]
		if found[at.Dir] == nil {
			found[at.Dir] = map[string]bool{}
		}
		found[at.Dir][at.Subject] = true
	}
	for _, run := range current {
		g.Verdicts.add(run.Verdict)
		s := Server{
			Host: run.Info.Host, Serial: run.serial, Dir: run.Dir, RunID: run.Info.ID, Kind: run.kind(), Profile: run.Info.Profile,
			Verdict: run.Verdict, Exit: run.Exit, Counts: run.Counts, Outliers: len(found[run.Dir]),
			Started: run.Info.Started, Ended: run.Info.Ended, Seconds: run.Info.Ended.Sub(run.Info.Started).Seconds(),
			Age: o.Now.Sub(run.Info.Ended).Seconds(), Source: run.Source, Warnings: run.Warnings,
		}
		if run.worst != nil {
			s.WorstCode, s.WorstID = run.worst.code, run.worst.id
		}
		g.Servers = append(g.Servers, s)
	}
	slices.SortStableFunc(g.Servers, func(a, b Server) int { return cmp.Compare(severity(&a), severity(&b)) })
	return g
}

// severity orders servers, the worst first.
func severity(s *Server) int {
	switch {
	case s.Verdict == verdict.Fail:
		return 0
	case s.Verdict == verdict.Error:
		return 1
	case s.Outliers > 0:
		return 2
	case s.Verdict == verdict.Skip:
		return 3
	}
	return 4
}

func (c *Counts) add(v verdict.Verdict) {
	switch v {
	case verdict.Fail:
		c.Fail++
	case verdict.Error:
		c.Error++
	case verdict.Skip:
		c.Skip++
	default: // results.json has no waived as a whole
		c.Pass++
	}
}

// current are the runs that count: of each server the last one. The others
// are noted as superseded.
func (g *Group) current(runs []*Run) []*Run {
	runs = slices.Clone(runs)
	slices.SortFunc(runs, func(a, b *Run) int {
		return cmp.Or(b.Info.Ended.Compare(a.Info.Ended), b.Info.Started.Compare(a.Info.Started), cmp.Compare(a.Dir, b.Dir))
	})
	var count []*Run
	servers := map[string][]*Run{} // by serial number, or by host
	for _, run := range runs {
		name := "serial " + run.serial
		if run.serial == "" {
			name = "host " + run.Info.Host
		}
		i := slices.IndexFunc(servers[name], func(other *Run) bool { return same(run, other) })
		if i < 0 {
			servers[name] = append(servers[name], run)
			count = append(count, run)
			continue
		}
		g.Superseded = append(g.Superseded, Earlier{
			Host: run.Info.Host, Serial: run.serial, Dir: run.Dir, RunID: run.Info.ID, Verdict: run.Verdict,
			Ended: run.Info.Ended, By: servers[name][i].Dir,
		})
	}
	slices.SortFunc(g.Superseded, func(a, b Earlier) int { return cmp.Compare(a.Dir, b.Dir) })
	for name, several := range servers {
		serial, ok := strings.CutPrefix(name, "serial ")
		if !ok || len(several) < 2 {
			continue
		}
		a := Ambiguous{Serial: serial}
		for _, run := range several {
			a.Dirs = append(a.Dirs, run.Dir)
		}
		slices.Sort(a.Dirs)
		g.Ambiguous = append(g.Ambiguous, a)
	}
	slices.SortFunc(g.Ambiguous, func(a, b Ambiguous) int { return cmp.Compare(a.Serial, b.Serial) })
	return count
}

// same says whether two runs with one name are of one server: they have a GPU
// in common, or one of them names none. Some boards all have the same serial
// number.
func same(a, b *Run) bool {
	mine := map[string]bool{}
	for i := range a.GPUs {
		mine[identity(&a.GPUs[i])] = true
	}
	delete(mine, "")
	theirs := 0
	for i := range b.GPUs {
		id := identity(&b.GPUs[i])
		if mine[id] {
			return true
		}
		if id != "" {
			theirs++
		}
	}
	return len(mine) == 0 || theirs == 0
}

// moved are the GPUs that more than one server holds.
func moved(runs []*Run) []Moved {
	holders := map[string][]Place{}
	for _, run := range runs {
		once := map[string]bool{}
		for i := range run.GPUs {
			id := identity(&run.GPUs[i])
			if id != "" && !once[id] {
				once[id] = true
				holders[id] = append(holders[id], run.at(run.GPUs[i].Slot))
			}
		}
	}
	var all []Moved
	for _, places := range holders {
		if len(places) > 1 {
			all = append(all, Moved{Serial: places[0].GPUs[0].Serial, UUID: places[0].GPUs[0].UUID, Places: places})
		}
	}
	slices.SortFunc(all, func(a, b Moved) int { return cmp.Or(cmp.Compare(a.Serial, b.Serial), cmp.Compare(a.UUID, b.UUID)) })
	return all
}
