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
		case g.Verdicts.bad()+len(g.Outliers) > 0:
			r.Exit = exitBad
		case g.Verdicts.Pass > 0 && r.Exit == exitNothing:
			r.Exit = exitGood
		}
	}
	if len(r.Groups) > 0 && r.Unread() > 0 {
		r.Exit = exitBad
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
		g.Verdicts.add(run.standing())
		s := Server{
			Host: run.Info.Host, Serial: run.serial, Dir: run.Dir, RunID: run.Info.ID, Kind: run.kind(), Profile: run.Info.Profile,
			Verdict: run.Verdict, Standing: run.standing(), Exit: run.Exit, Counts: run.Counts, Outliers: len(found[run.Dir]),
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
	case s.Standing == Standing(verdict.Fail):
		return 0
	case s.Standing == Broken:
		return 1
	case s.Standing == Standing(verdict.Error):
		return 2
	case s.Outliers > 0:
		return 3
	case s.Standing == Live:
		return 4
	case s.Standing == Standing(verdict.Skip):
		return 5
	}
	return good
}

// good is the severity of a server that is as it should be.
const good = 6

// bad is how many servers are not as they should be.
func (c *Counts) bad() int { return c.Fail + c.Error + c.Broken + c.Live }

func (c *Counts) add(s Standing) {
	switch s {
	case Standing(verdict.Fail):
		c.Fail++
	case Standing(verdict.Error):
		c.Error++
	case Standing(verdict.Skip):
		c.Skip++
	case Broken:
		c.Broken++
	case Live:
		c.Live++
	default: // results.json has no waived as a whole
		c.Pass++
	}
}

// current are the runs that count: of each server the last one. The others
// are noted as superseded.
func (g *Group) current(runs []*Run) []*Run {
	runs = slices.Clone(runs)
	slices.SortFunc(runs, func(a, b *Run) int { // of copies of one run the worse counts
		return cmp.Or(b.Info.Ended.Compare(a.Info.Ended), b.Info.Started.Compare(a.Info.Started),
			cmp.Compare(severity(&Server{Standing: a.standing()}), severity(&Server{Standing: b.standing()})), cmp.Compare(a.Dir, b.Dir))
	})
	supersede := func(run, by *Run, same bool) {
		g.Superseded = append(g.Superseded, Earlier{
			Host: run.Info.Host, Serial: run.serial, Dir: run.Dir, RunID: run.Info.ID, Verdict: run.Verdict,
			Ended: run.Info.Ended, By: by.Dir, Same: same,
		})
	}
	var count []*Run
	given := map[string]*Run{}     // by run id
	servers := map[string][]*Run{} // by serial number, or by host
	for _, run := range runs {
		if twin := given[run.Info.ID]; twin != nil {
			supersede(run, twin, true)
			continue
		}
		if run.Info.ID != "" {
			given[run.Info.ID] = run
		}
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
		supersede(run, servers[name][i], false)
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
