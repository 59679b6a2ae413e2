package ocp

import (
	"fmt"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/internal/words"
	"github.com/peerproof/peerproof/report"
)

// steps are the specs by check, in the order of the plan.
func steps(specs []report.Spec) [][]*report.Spec {
	var all [][]*report.Spec
	place := map[string]int{}
	for i := range specs {
		check := specs[i].Check()
		at, known := place[check]
		if !known {
			at = len(all)
			place[check] = at
			all = append(all, nil)
		}
		all[at] = append(all[at], &specs[i])
	}
	return all
}

// step writes a check: its specs, and how it ended.
func (d *document) step(id string, specs []*report.Spec) {
	emit := func(a stepArtifact) {
		a.TestStepID = id
		d.emit(output{TestStepArtifact: &a})
	}
	if first := specs[0].Started; !first.IsZero() {
		d.at = first
	}
	emit(stepArtifact{TestStepStart: &stepStart{text(specs[0].Check())}})
	var counts, left report.Counts
	large := len(d.results.Specs) > maxSpecs
	named := 0
	for _, s := range specs {
		counts.Add(s.Verdict)
		if large && (s.Verdict == verdict.Pass || named >= maxNamed) {
			left.Add(s.Verdict)
			continue
		}
		if s.Verdict != verdict.Pass {
			named++
		}
		if !s.Started.IsZero() {
			d.at = s.Ended()
		}
		for _, a := range d.spec(s) {
			emit(a)
		}
	}
	for _, a := range summed(specs[0].Check(), left) {
		emit(a)
	}
	emit(stepArtifact{TestStepEnd: &stepEnd{status(counts)}})
}

// status is how a step ended: as an error where anything could not be decided,
// skipped where nothing was.
func status(c report.Counts) string {
	switch {
	case c.Error > 0:
		return statusError
	case c.Pass+c.Fail+c.Waived == 0:
		return statusSkip
	default:
		return statusComplete
	}
}

// summed stands for the specs of a step that are too many to name.
func summed(check string, left report.Counts) []stepArtifact {
	var all []stepArtifact
	for _, c := range []struct {
		n             int
		kind, verdict string
		words         string
	}{
		{left.Pass, typePass, "pass", "passed"},
		{left.Fail, typeFail, "fail", "failed too"},
		{left.Error, typeUnknown, "error", "could not be decided either"},
		{left.Waived, typeUnknown, "waived", "excused by a waiver too"},
	} {
		if c.n > 0 {
			all = append(all, stepArtifact{Diagnosis: &diagnosis{Verdict: c.verdict, Type: c.kind, Message: fmt.Sprintf("%s of %s %s; results.json names them", words.Count(c.n, "spec", "specs"), text(check), c.words)}})
		}
	}
	if left.Skip > 0 {
		all = append(all, stepArtifact{Log: &log{severityInfo, fmt.Sprintf("%s of %s skipped too; results.json names them", words.Count(left.Skip, "spec", "specs"), text(check))}})
	}
	return all
}

// spec are the artifacts of one spec: its figures, then what they mean. A spec
// that does not apply to the node is a line of the log; one that could not be
// decided is an error, and a diagnosis that says so of the hardware.
func (d *document) spec(s *report.Spec) []stepArtifact {
	hardware, part := d.where(s)
	var all []stepArtifact
	for i := range s.Measurements {
		m := &s.Measurements[i]
		a := &measurement{
			Name: orElse(text(m.Name), "unnamed"), Value: m.Value, Unit: text(m.Unit), HardwareInfoID: hardware, Subcomponent: part,
			Metadata: map[string]any{"spec": text(s.ID)},
		}
		if m.Floor > 0 {
			a.Validators = []validator{{Name: "floor", Type: atLeast, Value: m.Floor}}
		}
		if m.Theoretical > 0 {
			a.Metadata["theoretical"] = m.Theoretical
		}
		if s.Path != "" {
			a.Metadata["path"] = text(s.Path)
		}
		all = append(all, stepArtifact{Measurement: a})
	}
	message := d.message(s)
	conclusion := &diagnosis{Verdict: orElse(text(s.Code), string(s.Verdict)), Message: message, HardwareInfoID: hardware, Subcomponent: part}
	switch s.Verdict {
	case verdict.Pass:
		conclusion.Type = typePass
	case verdict.Fail:
		conclusion.Type = typeFail
	case verdict.Waived: // the failure is known, and is not to be counted
		conclusion.Type, conclusion.Verdict = typeUnknown, text("waived-"+s.Code)
	case verdict.Skip:
		return append(all, stepArtifact{Log: &log{severityInfo, message}})
	default:
		conclusion.Type = typeUnknown
		all = append(all, stepArtifact{Error: &failure{Symptom: orElse(text(s.Code), "error"), Message: message, SoftwareInfoIDs: d.software}})
	}
	return append(all, stepArtifact{Diagnosis: conclusion})
}

// message is a spec's outcome on one line.
func (d *document) message(s *report.Spec) string {
	line := report.Line(s.ID) + ": " + report.Headline(s)
	if s.Waiver != nil {
		line += "; waived " + report.Excuse(s.Waiver)
	}
	if hint := report.Line(s.Hint); hint != "" {
		line += "; hint: " + hint
	}
	limit := maxMessage
	if s.Verdict != verdict.Pass {
		d.told++
	}
	if d.told > maxTold {
		limit = maxLine
	}
	return report.Cut(line, limit, "…")
}

// where is the hardware of a spec: one GPU; of a pair the GPU whose engines
// work, and the way to the other one.
func (d *document) where(s *report.Spec) (hardware string, part *subcomponent) {
	slots := s.Subject.Slots()
	if len(slots) == 0 {
		return "", nil
	}
	if s.Subject.GPU == "" {
		part = &subcomponent{Type: typeBus, Name: text(s.Subject.From + " to " + s.Subject.To)}
	}
	return d.hardware[slots[0]], part
}
