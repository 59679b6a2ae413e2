package fleet

import (
	"cmp"
	"slices"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

// identity is what a GPU is known by wherever it is put: its serial number,
// else its UUID; "" where neither is known.
func identity(g *report.GPU) string {
	if serial := known(g.Serial); serial != "" {
		return "serial " + serial
	}
	if uuid := report.Line(g.UUID); uuid != "" {
		return "uuid " + uuid
	}
	return ""
}

// entry is a failure in the making.
type entry struct {
	failure *Failure
	parts   map[string]*Part // by what they are known by
	servers map[string]bool
}

// failures puts what went wrong together by code, and within it by part.
func failures(runs []*Run) []Failure {
	type kind struct {
		code    string
		verdict verdict.Verdict
	}
	entries := map[kind]*entry{}
	for _, run := range runs {
		byCode := map[kind][]*badSpecs{}
		for _, b := range run.bad {
			k := kind{b.code, b.verdict}
			byCode[k] = append(byCode[k], b)
		}
		for k, bad := range byCode {
			e := entries[k]
			if e == nil {
				e = &entry{
					failure: &Failure{Code: k.code, Verdict: k.verdict, Follows: report.Follows(k.code)},
					parts:   map[string]*Part{}, servers: map[string]bool{},
				}
				entries[k] = e
			}
			e.servers[run.Dir] = true
			e.add(run, bad)
		}
	}
	all := []Failure{}
	for _, e := range entries {
		f := e.failure
		f.Servers = len(e.servers)
		for _, p := range e.parts {
			slices.Sort(p.Checks)
			f.Specs += p.Specs
			f.Parts = append(f.Parts, *p)
		}
		slices.SortFunc(f.Parts, func(a, b Part) int {
			return cmp.Or(cmp.Compare(b.Specs, a.Specs), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Dir, b.Dir), cmp.Compare(a.Subject, b.Subject))
		})
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b Failure) int {
		return cmp.Or(order(&a)-order(&b), b.Servers-a.Servers, b.Specs-a.Specs, cmp.Compare(a.Code, b.Code))
	})
	return all
}

// order puts failures first, then errors, then what follows from others.
func order(f *Failure) int {
	switch {
	case f.Follows:
		return 2
	case f.Verdict == verdict.Error:
		return 1
	}
	return 0
}

// add enters the specs of one run with the entry's code.
func (e *entry) add(run *Run, bad []*badSpecs) {
	var subjects []string
	for _, b := range bad {
		subjects = append(subjects, b.subjects...)
	}
	blamed := blame(subjects, len(run.GPUs))
	for _, b := range bad {
		for _, subject := range b.subjects {
			place := run.at(blamed[subject])
			id := run.Dir + " " + place.Subject
			if len(place.GPUs) == 1 {
				id = cmp.Or(identity(&place.GPUs[0]), id)
			}
			p := e.parts[id]
			if p == nil {
				p = &Part{Place: place, Message: b.message}
				e.parts[id] = p
			}
			p.Specs++
			if !slices.Contains(p.Checks, b.check) {
				p.Checks = append(p.Checks, b.check)
			}
		}
	}
}

// blame says for each subject of the specs that failed alike on one server
// which part they point at: the GPU that at least three bad pairs have in
// common, else the pair itself, whatever its direction; "" for the server,
// where more than half of its pairs are bad.
func blame(subjects []string, gpus int) map[string]string {
	blamed := map[string]string{}
	pairs := map[[2]string][]string{}
	for _, subject := range subjects {
		from, to := ends(subject)
		if to == "" || to == from {
			blamed[subject] = from
			continue
		}
		pair := [2]string{min(from, to), max(from, to)}
		if !slices.Contains(pairs[pair], subject) {
			pairs[pair] = append(pairs[pair], subject)
		}
	}
	assign := func(pair [2]string, part string) {
		for _, subject := range pairs[pair] {
			blamed[subject] = part
		}
		delete(pairs, pair)
	}
	if all := gpus * (gpus - 1) / 2; all >= 3 && len(pairs) > all/2 {
		for pair := range pairs {
			assign(pair, "")
		}
	}
	for {
		partners := map[string]int{}
		for pair := range pairs {
			partners[pair[0]]++
			partners[pair[1]]++
		}
		most := ""
		for gpu, n := range partners {
			if n > partners[most] || n == partners[most] && gpu < most {
				most = gpu
			}
		}
		if partners[most] < 3 {
			break
		}
		for pair := range pairs {
			if pair[0] == most || pair[1] == most {
				assign(pair, most)
			}
		}
	}
	for pair := range pairs {
		assign(pair, pair[0]+"-"+pair[1])
	}
	return blamed
}
