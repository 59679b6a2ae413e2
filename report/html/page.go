package html

import (
	"strconv"
	"strings"

	"github.com/peerproof/peerproof/fixtures/profile"
	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

// Bounds of the document, so that a rack's 180,000 specs make a file that a
// browser opens. What is left out is counted, and stands in results.json.
const (
	maxFull     = 150  // failures told in full
	maxTold     = 1500 // further failures, a line each
	maxSubjects = 60   // subjects named in a line
	maxFindings = 40
	manyGPUs    = 16 // above it tables are narrow and folded
)

// page is what the template shows.
type page struct {
	*report.Results
	Marks   string // SIMULATED, LOOPBACK, both or none
	Meaning string // of the marks
	Took    string
	// What the header tells beside the host's name: each only where it is
	// another text, "" else.
	Product, Simulated string
	Findings           []finding
	Left               int // findings not shown
	Server             *drawing
	Matrices           *matrices
	Failures           []failure
	Told               []*report.Spec // failures beyond maxFull
	Untold             int            // and beyond maxTold
	Waived             []group
	Skipped            []group
	Passes             []area
	Plots              plots
	Facts              inventory
}

func newPage(r *report.Results) *page {
	r = slim(r)
	p := &page{Results: r, Marks: r.Run.Marks(), Took: seconds(r.Run.Took().Seconds())}
	switch {
	case r.Run.Simulated && r.Run.Loopback:
		p.Meaning = "no real GPU was tested, and each GPU was its own peer"
	case r.Run.Simulated:
		p.Meaning = "no real GPU was tested"
	case r.Run.Loopback:
		p.Meaning = "each GPU was its own peer: nothing crossed a link"
	}
	if r.Node != nil && r.Node.Host.Product != r.Run.Host {
		p.Product = r.Node.Host.Product
	}
	if r.Run.Node != r.Run.Host {
		p.Simulated = r.Run.Node
	}
	expected := profileOf(r)
	anchors := map[*report.Spec]string{}
	p.failures(anchors)
	all := report.Findings(r)
	for i := range all {
		if i == maxFindings {
			p.Left = len(all) - i
			break
		}
		p.Findings = append(p.Findings, newFinding(r, &all[i], i, anchors))
	}
	p.Waived, p.Skipped = groups(r, verdict.Waived), groups(r, verdict.Skip)
	p.Passes = passes(r)
	p.Matrices = newMatrices(r, expected)
	p.Plots = newPlots(r, p.Matrices)
	if r.Node != nil {
		p.Server = newDrawing(r, expected, all)
		p.Facts = newInventory(r.Node)
	}
	return p
}

// profileOf is the profile of the run, nil where there was none. What cannot
// be read is a warning of the results already.
func profileOf(r *report.Results) *profile.Profile {
	if r.ProfileText == "" {
		return nil
	}
	p, err := profile.Parse(r.Run.Profile, []byte(r.ProfileText))
	if err != nil {
		return nil
	}
	return p
}

func seconds(s float64) string { return report.Number(s) + " s" }

// symbol is a verdict's sign, for who sees no colour.
func symbol(v verdict.Verdict) string {
	switch v {
	case verdict.Pass:
		return "✓"
	case verdict.Fail:
		return "✗"
	case verdict.Error:
		return "!"
	case verdict.Waived:
		return "w"
	default:
		return "–"
	}
}

// finding is a report.Finding with what the document shows beside it.
type finding struct {
	report.Finding
	ID        string
	Kind      string
	Sure      verdict.Verdict // fail, or error where nothing of it failed
	PartsList []report.Part
	Evidence  []link
	More      int // further evidence
	Fold      []group
}

// link leads to a failure told in full.
type link struct {
	Anchor string // "" where it is not told in full
	Spec   *report.Spec
}

func newFinding(r *report.Results, one *report.Finding, i int, anchors map[*report.Spec]string) finding {
	f := finding{Finding: *one, ID: "finding" + strconv.Itoa(i+1), PartsList: one.Parts(r), Sure: verdict.Error}
	f.Kind = [...]string{
		report.OfNode: "the node", report.OfPaths: "a kind of path", report.OfGPU: "one GPU",
		report.OfPair: "two GPUs, or what lies between them", report.OfRun: "the run",
	}[one.Scope]
	for i, s := range one.Specs {
		if s.Verdict == verdict.Fail {
			f.Sure = verdict.Fail
		}
		if i < maxSubjects {
			f.Evidence = append(f.Evidence, link{Anchor: anchors[s], Spec: s})
		} else {
			f.More++
		}
	}
	f.Fold = byCheck(one.Blocked)
	return f
}

// group is specs that are told together.
type group struct {
	Code, Check, Text string
	Why               string
	N                 int
	Subjects          []string
	More              int
}

func (g *group) add(s *report.Spec) {
	g.N++
	switch {
	case len(g.Subjects) < maxSubjects:
		g.Subjects = append(g.Subjects, subject(s))
	default:
		g.More++
	}
}

// subject is the text between the brackets of an id, "" for the whole node.
func subject(s *report.Spec) string {
	return strings.Trim(s.ID[len(s.Check()):], "[]")
}

// byCheck groups specs by their check, in the order of the plan.
func byCheck(specs []*report.Spec) []group {
	var all []group
	known := map[string]int{}
	for _, s := range specs {
		check := s.Check()
		i, ok := known[check]
		if !ok {
			i = len(all)
			known[check] = i
			all = append(all, group{Check: check, Text: s.Text, Code: s.Code, Why: s.Message})
		}
		all[i].add(s)
	}
	return all
}

// groups are the specs of a verdict by code, check and, where they are waived,
// waiver.
func groups(r *report.Results, v verdict.Verdict) []group {
	var all []group
	known := map[[3]string]int{}
	for i := range r.Specs {
		s := &r.Specs[i]
		if s.Verdict != v {
			continue
		}
		why := s.Message
		key := [3]string{s.Code, s.Check()}
		if s.Waiver != nil {
			why = report.Excuse(s.Waiver)
			key[2] = why
		}
		at, ok := known[key]
		if !ok {
			at = len(all)
			known[key] = at
			all = append(all, group{Code: s.Code, Check: s.Check(), Text: s.Text, Why: why})
		}
		all[at].add(s)
	}
	return all
}

// area is the checks of an area, with how many of their specs passed.
type area struct {
	Name   string
	N      int
	Checks []*checkCount
}

type checkCount struct {
	Check, Text string
	report.Counts
}

func passes(r *report.Results) []area {
	var all []area
	areas, checks := map[string]int{}, map[string]*checkCount{}
	for i := range r.Specs {
		s := &r.Specs[i]
		c := checks[s.Check()]
		if c == nil {
			at, ok := areas[s.Area()]
			if !ok {
				at = len(all)
				areas[s.Area()] = at
				all = append(all, area{Name: s.Area()})
			}
			c = &checkCount{Check: s.Check(), Text: s.Text}
			checks[c.Check] = c
			all[at].Checks = append(all[at].Checks, c)
		}
		c.Add(s.Verdict)
		if s.Verdict == verdict.Pass {
			all[areas[s.Area()]].N++
		}
	}
	return all
}

// failure is a spec that failed or erred by itself.
type failure struct {
	*report.Spec
	Anchor  string
	GPUs    []report.GPU
	Xids    []topology.Xid
	Like    string // "3 of 3", of the attempts that ended as this one did
	Command string
}

func (p *page) failures(anchors map[*report.Spec]string) {
	r := p.Results
	gpus := map[string]report.GPU{}
	for _, g := range r.GPUs {
		gpus[g.Slot] = g
	}
	for i := range r.Specs {
		s := &r.Specs[i]
		if s.Verdict != verdict.Fail && s.Verdict != verdict.Error || report.Follows(s.Code) {
			continue
		}
		switch {
		case len(p.Failures) < maxFull:
			f := failure{Spec: s, Anchor: "spec" + strconv.Itoa(i+1), Command: r.Run.Reproduce(s.ID)}
			anchors[s] = f.Anchor
			for _, slot := range s.Subject.Slots() {
				if g, ok := gpus[slot]; ok {
					f.GPUs = append(f.GPUs, g)
				}
			}
			f.Xids = xidsOf(r, s, f.GPUs)
			f.Like = attempts(s)
			p.Failures = append(p.Failures, f)
		case len(p.Told) < maxTold:
			p.Told = append(p.Told, s)
		default:
			p.Untold++
		}
	}
}

// attempts says how many runs of a repeated spec ended as it did.
func attempts(s *report.Spec) string {
	if len(s.Attempts) == 0 {
		return ""
	}
	like := 0
	for _, a := range s.Attempts {
		if a.Verdict == s.Verdict {
			like++
		}
	}
	return strconv.Itoa(like) + " of " + strconv.Itoa(len(s.Attempts))
}

// xidsOf are the driver's errors that were seen while a spec ran, and those of
// its GPUs where the spec is about Xids.
func xidsOf(r *report.Results, s *report.Spec, gpus []report.GPU) []topology.Xid {
	const most = 20
	var all []topology.Xid
	for _, x := range r.Xids {
		if len(all) == most {
			break
		}
		during, ofGPU := false, len(gpus) == 0
		for _, id := range x.Specs {
			during = during || id == s.ID
		}
		for _, g := range gpus {
			ofGPU = ofGPU || x.Of(g.BusID)
		}
		if during || ofGPU && s.Subject != nil && !x.Provoked {
			all = append(all, x)
		}
	}
	return all
}
