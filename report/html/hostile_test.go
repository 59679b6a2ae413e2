package html_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/internal/sample"
)

// What the journal is made of may be anything. It must not become markup,
// change the direction of the text, or make the file endless.
func TestHostile(t *testing.T) {
	for name, evil := range map[string]string{
		"markup":    `</title></style></svg></bdi><script>alert(1)</script><img src=x onerror=alert(1)>"'` + "`" + `--><b>`,
		"control":   "a\x1b[31mred\x1b[0m\x00\x07\x08\u009b31m\r\n\u2028z",
		"direction": "\u202eevil\u202c\u2066x\u2069\u200f\u061c",
		"invalid":   "\xff\xfe\xc3(",
		"template":  `{{.Run}} ${x} <%= 1 %>`,
		"huge":      strings.Repeat("A", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			r := hostile(evil)
			if name == "huge" {
				r.Node.GPUs[0].Model = strings.Repeat("A", 10<<20)
				r.GPUs[0].Model, r.Specs[0].Message = r.Node.GPUs[0].Model, r.Node.GPUs[0].Model
			}
			document := write(t, r)
			if len(document) > 600_000 {
				t.Errorf("%d bytes", len(document))
			}
			for i, c := range document {
				if c == unicode.ReplacementChar && name == "invalid" {
					continue
				}
				if unicode.IsControl(c) && c != '\n' || unicode.Is(unicode.Bidi_Control, c) || c == '\u2028' || c == unicode.ReplacementChar {
					t.Fatalf("%U in the document, at %q", c, document[max(0, i-200):min(i+20, len(document))])
				}
			}
			parse(t, document).sound()
			if strings.Contains(document, "<script") || strings.Contains(document, "<img") {
				t.Error("markup from outside")
			}
		})
	}
}

// hostile is results with a text wherever there is text from outside.
func hostile(evil string) *report.Results {
	n := sample.Node(3)
	n.Host.Name, n.Host.Serial, n.Host.Product, n.Host.Kernel = evil, evil, evil, evil
	n.Driver.NVML = evil
	n.Hidden = []topology.Hidden{{Slot: 9, BusID: evil, Reason: evil}}
	for i := range n.GPUs {
		g := &n.GPUs[i]
		g.Model, g.Serial, g.UUID, g.VBIOS = evil, evil, evil, evil
		if i > 0 {
			g.BusID = evil
		}
		g.NVLinks = []topology.NVLink{{Link: 0, Remote: evil, Switch: true}}
		g.Above = []topology.Bridge{{BusID: evil}, {BusID: evil}}
		g.Errors = map[string]topology.Call{evil: {Op: evil, Error: evil}}
		n.Peers[i][0].Ancestor = evil
	}
	n.GPUs[2].Hung, n.GPUs[2].NVMLIndex = evil, -1
	r := &report.Results{
		Run:     report.Run{ID: evil, Tool: evil, Host: evil, Serial: evil, Node: evil, Profile: evil, Simulated: true, Keyword: evil, Labels: evil, Preset: evil, Args: []string{"--node", evil}},
		Verdict: verdict.Verdict(evil), Warnings: []string{evil, evil}, Node: n, ProfileText: evil, NodeText: evil,
		Xids: []topology.Xid{{BusID: evil, Source: evil, Text: evil, Specs: []string{"area/check[gpu0]"}}},
	}
	for i := range n.GPUs {
		r.GPUs = append(r.GPUs, report.GPU{Slot: fmt.Sprintf("gpu%d", i), BusID: evil, UUID: evil, Serial: evil, Model: evil})
	}
	figures := []verdict.Measurement{
		{Name: evil, Value: 1, Unit: evil, Floor: 2, Theoretical: 3, Basis: evil, Samples: []float64{1, 2}},
		{Name: evil + " at 4 KiB", Value: 1, Unit: evil, Samples: []float64{1}},
		{Name: evil + " gpu0->gpu1", Value: 1, Unit: evil, Samples: []float64{1, 2}},
		{Name: "series " + evil, Value: 1, Unit: evil, Samples: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}},
	}
	add := func(id string, v verdict.Verdict, s *report.Subject) {
		r.Specs = append(r.Specs, report.Spec{
			ID: id, Text: evil, Labels: []string{evil}, Verdict: v, Code: evil, Message: evil, Hint: evil, Path: evil,
			Subject: s, Measurements: figures, Attempts: []report.Attempt{{Verdict: v, Code: evil, Message: evil}},
		})
		r.Counts.Add(v)
	}
	pair := &report.Subject{From: "gpu0", To: "gpu1"}
	for _, v := range []verdict.Verdict{verdict.Pass, verdict.Fail, verdict.Error, verdict.Skip, verdict.Waived, verdict.Verdict(evil)} {
		add("area/check[gpu0]", v, &report.Subject{GPU: "gpu0"})
		add("area/pair[gpu0->gpu1]", v, pair)
		add("area/node", v, nil)
		add(evil+"/"+evil+"["+evil+"]", v, &report.Subject{GPU: evil})
		add(evil+"->", v, &report.Subject{From: evil, To: evil + "x"})
		r.Specs[len(r.Specs)-1].Code = verdict.BlockedBy
		r.Specs[len(r.Specs)-1].Message = "blocked by " + evil
	}
	for i := range r.Specs {
		if r.Specs[i].Verdict == verdict.Waived {
			r.Specs[i].Waiver = &report.Waiver{Spec: evil, Reason: evil, Owner: evil, Expires: evil}
		}
	}
	return r
}
