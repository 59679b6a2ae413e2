package fleet

import (
	"cmp"
	"math"
	"slices"
)

// bins is how many steps a figure's distribution is drawn in.
const bins = 48

// table is the values of one class on the servers of one kind. NaN stands for
// a value that there is not.
type table struct {
	class
	kind     string
	lower    bool
	runs     []*Run
	subjects []string
	parts    [][2]int    // GPUs of each subject by index, -1 for none
	gpus     int         // how many GPUs the subjects name
	cells    [][]float64 // of each run, by subject
	// score is each run's median over the medians of its GPUs, or over its
	// values where they are of no GPU; NaN where it has too few.
	score []float64
	// gpu is how each GPU does next to its server: the median over its pairs,
	// or its own value, in parts of the server's score.
	gpu [][]float64
}

// compare fills the kinds, the figures and the outliers.
func (g *Group) compare(runs []*Run, series *catalogue) {
	kinds := map[string][]*Run{}
	for _, run := range runs {
		kinds[run.kind()] = append(kinds[run.kind()], run)
	}
	g.Kinds, g.Figures, g.Outliers = []Kind{}, []Figure{}, []Outlier{}
	var tables []*table
	for name, members := range kinds {
		g.Kinds = append(g.Kinds, Kind{Name: name, Servers: len(members), Compared: len(members) >= MinPeers})
		tables = append(tables, tablesOf(name, members, series)...)
	}
	slices.SortFunc(g.Kinds, func(a, b Kind) int { return cmp.Or(b.Servers-a.Servers, cmp.Compare(a.Name, b.Name)) })
	slices.SortFunc(tables, func(a, b *table) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.check, b.check), cmp.Compare(a.name, b.name), cmp.Compare(a.path, b.path))
	})
	tables = once(tables)
	var tests [3]int // at each level
	for _, t := range tables {
		g.Figures = append(g.Figures, t.figure())
		for level, columns := range t.levels() {
			for _, c := range columns {
				tests[level] += c.size()
			}
		}
	}
	for _, t := range tables {
		slow := map[string]bool{} // GPUs that are outliers: their pairs follow from that
		for level, columns := range t.levels() {
			for _, c := range columns {
				if c.size() == 0 {
					continue
				}
				for _, o := range t.judge(c, len(tests)*tests[level]) {
					from, to := ends(o.Subject)
					if o.Level == levelPair && (slow[o.Dir+" "+from] || slow[o.Dir+" "+to]) {
						continue
					}
					slow[o.Dir+" "+o.Subject] = true
					g.Outliers = append(g.Outliers, o)
				}
			}
		}
	}
	slices.SortStableFunc(g.Outliers, func(a, b Outlier) int {
		return cmp.Or(rank(a.Level)-rank(b.Level), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Dir, b.Dir),
			cmp.Compare(a.Subject, b.Subject), cmp.Compare(b.Z, a.Z), cmp.Compare(a.Check, b.Check))
	})
}

// rank orders levels, the largest part first.
func rank(level string) int { return slices.Index([]string{levelServer, levelGPU, levelPair}, level) }

// tablesOf sorts the figures of the servers of one kind into tables.
func tablesOf(kind string, runs []*Run, series *catalogue) []*table {
	tables := map[class]*table{}
	column := make([]int, len(series.keys)) // of each series, in its table, plus 1
	for _, run := range runs {
		for _, f := range run.figures {
			if column[f.series] > 0 {
				continue
			}
			k := series.keys[f.series]
			t := tables[k.class]
			if t == nil {
				lower, _ := lowerIsWorse(k.check, k.unit)
				t = &table{class: k.class, kind: kind, lower: lower, runs: runs, cells: make([][]float64, len(runs))}
				tables[k.class] = t
			}
			t.subjects = append(t.subjects, k.subject)
			column[f.series] = len(t.subjects)
		}
	}
	for i, run := range runs {
		for _, f := range run.figures {
			t := tables[series.keys[f.series].class]
			if t.cells[i] == nil {
				t.cells[i] = slices.Repeat([]float64{math.NaN()}, len(t.subjects))
			}
			t.cells[i][column[f.series]-1] = f.value
		}
	}
	all := make([]*table, 0, len(tables))
	for _, t := range tables {
		t.sum()
		all = append(all, t)
	}
	return all
}

// locate fills parts.
func (t *table) locate() {
	index := map[string]int{"": -1}
	of := func(slot string) int {
		i, ok := index[slot]
		if !ok {
			i = t.gpus
			index[slot] = i
			t.gpus++
		}
		return i
	}
	for _, subject := range t.subjects {
		from, to := ends(subject)
		if to == from {
			to = ""
		}
		t.parts = append(t.parts, [2]int{of(from), of(to)})
	}
}

// sum fills score and gpu.
func (t *table) sum() {
	t.locate()
	t.score = make([]float64, len(t.runs))
	t.gpu = make([][]float64, len(t.runs))
	values := make([]float64, 0, len(t.subjects))
	ofGPU := make([][]float64, t.gpus)
	for i, cells := range t.cells {
		values = values[:0]
		for g := range ofGPU {
			ofGPU[g] = ofGPU[g][:0]
		}
		for c, v := range cells {
			if math.IsNaN(v) {
				continue
			}
			values = append(values, v)
			for _, g := range t.parts[c] {
				if g >= 0 {
					ofGPU[g] = append(ofGPU[g], v)
				}
			}
		}
		if t.score[i] = math.NaN(); 2*len(values) < len(t.subjects) {
			continue
		}
		// Of pairs, a slow GPU has a part in so many that the median over all
		// of them would move; the one over the GPUs does not.
		t.gpu[i] = make([]float64, t.gpus)
		for g, v := range ofGPU {
			t.gpu[i][g] = median(v)
		}
		if t.gpus > 0 {
			values = append(values[:0], t.gpu[i]...)
			values = slices.DeleteFunc(values, math.IsNaN)
		}
		t.score[i] = median(values)
		for g := range t.gpu[i] {
			t.gpu[i][g] /= t.score[i]
		}
	}
}

// once leaves out tables that repeat another one score for score: a
// derived check repeats the figures of the one that it judges.
func once(tables []*table) []*table {
	var kept []*table
	for _, t := range tables {
		if !slices.ContainsFunc(kept, t.repeats) {
			kept = append(kept, t)
		}
	}
	return kept
}

func (t *table) repeats(other *table) bool {
	if t.kind != other.kind || t.unit != other.unit || t.name != other.name || t.path != other.path {
		return false
	}
	for i, v := range t.score {
		if v != other.score[i] && !(math.IsNaN(v) && math.IsNaN(other.score[i])) {
			return false
		}
	}
	return true
}

// column is what is compared at one position: a value of each server, in
// parts of what is expected there of its server and GPUs.
type column struct {
	level, subject string
	rows           []int // of the table's runs
	values         []float64
	base           []float64 // value times base is the figure
}

// add appends a server's value, unless there is none.
func (c *column) add(row int, value, base float64) {
	if math.IsNaN(value) || math.IsNaN(base) {
		return
	}
	c.rows = append(c.rows, row)
	c.values = append(c.values, value/base)
	c.base = append(c.base, base)
}

// levels are the columns of servers, of GPUs and of pairs. Each level is
// compared after what the one above explains is taken out, so that a slow
// server does not make outliers of its pairs too.
func (t *table) levels() [3][]*column {
	servers := &column{level: levelServer}
	gpus, pairs := make([]*column, t.gpus), make([]*column, len(t.subjects))
	for row, score := range t.score {
		if math.IsNaN(score) {
			continue
		}
		servers.add(row, score, 1)
		if t.gpus < 3 { // of two, a median says nothing of either
			continue
		}
		for g, part := range t.gpu[row] {
			if gpus[g] == nil {
				gpus[g] = &column{level: levelGPU, subject: t.slot(g)}
			}
			gpus[g].add(row, part*score, score)
		}
		for c, v := range t.cells[row] {
			from, to := t.parts[c][0], t.parts[c][1]
			if to < 0 {
				continue
			}
			if pairs[c] == nil {
				pairs[c] = &column{level: levelPair, subject: t.subjects[c]}
			}
			pairs[c].add(row, v, score*t.gpu[row][from]*t.gpu[row][to])
		}
	}
	return [3][]*column{{servers}, gpus, pairs}
}

// slot is the name of the GPU with this index.
func (t *table) slot(index int) string {
	for c, parts := range t.parts {
		from, to := ends(t.subjects[c])
		switch index {
		case parts[0]:
			return from
		case parts[1]:
			return to
		}
	}
	return ""
}

// size is how many servers are compared in the column: none where there are
// fewer than MinPeers. A column without any value is nil.
func (c *column) size() int {
	if c == nil || len(c.values) < MinPeers {
		return 0
	}
	return len(c.values)
}

// judge names the outliers of one column.
func (t *table) judge(c *column, tests int) []Outlier {
	var found []Outlier
	for _, d := range outliers(c.values, t.lower, tests) {
		run, base := t.runs[c.rows[d.index]], c.base[d.index]
		found = append(found, Outlier{
			Place: run.at(c.subject), Check: t.check, Name: t.name, Unit: t.unit, Path: t.path, Kind: t.kind,
			Value: c.values[d.index] * base, Expected: d.median * base,
			Effect: round(100 * d.effect), Z: round(d.z), Threshold: round(d.threshold), Peers: len(c.values) - 1,
		})
	}
	return found
}

// round keeps three decimals, which is more than such a number means.
func round(v float64) float64 { return math.Round(v*1000) / 1000 }

// figure is the table's servers as a distribution.
func (t *table) figure() Figure {
	f := Figure{Kind: t.kind, Check: t.check, Name: t.name, Unit: t.unit, Path: t.path, Lower: t.lower, Bins: make([]int, bins)}
	scores := slices.DeleteFunc(slices.Clone(t.score), math.IsNaN)
	f.Servers = len(scores)
	if f.Servers == 0 {
		return f
	}
	f.Median = median(scores)
	f.Least, f.Most, f.MAD = scores[0], scores[len(scores)-1], mad(scores, f.Median)
	for _, v := range scores {
		f.Bins[bin(v, f.Least, f.Most)]++
	}
	return f
}

// bin is the step of a value between least and most.
func bin(v, least, most float64) int {
	if most <= least {
		return bins / 2
	}
	return min(bins-1, int(float64(bins)*(v-least)/(most-least)))
}
