package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/peerproof/peerproof/fixtures/jsontext"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

// Version is the version of the manifest that this package writes.
const Version = 1

// maxManifest bounds a manifest in bytes; the longest findings that maxFindings
// and maxFinding allow take less than half of it.
const maxManifest = 4 << 20

// maxFindings bounds the findings of a manifest, and maxFinding each of their
// texts in bytes.
const maxFindings, maxFinding = 200, 1000

// Manifest says what an archive holds, and what it is of: manifest.json.
type Manifest struct {
	Version int       `json:"version"`
	Tool    string    `json:"tool"`                    // that packed it, as "peerproof 0.1.0"
	Binary  string    `json:"binary_sha256,omitempty"` // of that program's file
	Created time.Time `json:"created"`
	Run     Run       `json:"run"`
	// GPUs are the inventory's, with what identifies each.
	GPUs []GPU `json:"gpus"`
	// Findings are what is wrong, as the report tells it, the probable root of
	// most failures first, and at most maxFindings.
	Findings []Finding `json:"findings"`
	Journal  Journal   `json:"journal"`
	// Redacted says what was replaced; nil where nothing was.
	Redacted *Redacted `json:"redacted,omitempty"`
	// Files are all but the manifest, SHA256SUMS and its signature, by name.
	Files []File `json:"files"`
	// Missing is what was not collected, and why.
	Missing []Missing `json:"missing,omitempty"`
}

// Run is the run that an archive is of.
type Run struct {
	ID      string    `json:"id"`
	Tool    string    `json:"tool"` // that ran it
	Host    string    `json:"host"`
	Serial  string    `json:"serial,omitempty"` // the server's
	Product string    `json:"product,omitempty"`
	Driver  string    `json:"driver,omitempty"` // NVIDIA's version, by NVML
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	Profile string    `json:"profile,omitempty"`
	// What was selected: all absent where every spec was wanted.
	Preset     string          `json:"preset,omitempty"`
	Keyword    string          `json:"keyword,omitempty"`     // -k
	Labels     string          `json:"labels,omitempty"`      // -m
	LastFailed int             `json:"last_failed,omitempty"` // ids that --last-failed named
	Simulated  bool            `json:"simulated"`
	Loopback   bool            `json:"loopback"`
	Verdict    verdict.Verdict `json:"verdict"`
	Exit       int             `json:"exit"`
	Counts     report.Counts   `json:"counts"`
}

// GPU is one slot of the inventory, its board and the firmware in it.
type GPU struct {
	report.GPU
	PartNumber string `json:"part_number,omitempty"` // the board's
	VBIOS      string `json:"vbios,omitempty"`
	InfoROM    string `json:"inforom,omitempty"` // version of its image
}

// Finding is failures and errors that probably have one cause.
type Finding struct {
	GPUs []string `json:"gpus"` // that it points at; empty where it is none of them
	What string   `json:"what"`
	Why  string   `json:"why"`
	// First is the first of its failures, in the order of the plan.
	First   Failure `json:"first"`
	Specs   int     `json:"specs"`             // that failed or erred by themselves
	Blocked int     `json:"blocked,omitempty"` // that could not be decided for them
}

// Failure is how one spec ended.
type Failure struct {
	Spec    string `json:"spec"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Journal is what is known of the journal in the archive.
type Journal struct {
	Lines uint64 `json:"lines"`
	Head  string `json:"head"` // hex SHA-256 of the last whole line
	// Verified says that the chain of hashes was whole when it was packed, and
	// Problem what was wrong with it; that a power cut tore the last line off is
	// a problem of a chain that is whole.
	Verified bool   `json:"verified"`
	Problem  string `json:"problem,omitempty"`
}

// Redacted is what redaction did. The chain of a redacted journal is a new one,
// made over the redacted events; Original is that of the run's own journal,
// with which its owner can show later what this one was made from.
type Redacted struct {
	Serials  bool    `json:"serials"` // serials and UUIDs too
	Original Journal `json:"original_journal"`
}

// File is one file of the archive.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// tell fills in what the results decide.
func (m *Manifest) tell(r *report.Results) {
	m.Run = Run{
		ID: r.Run.ID, Tool: r.Run.Tool, Host: r.Run.Host, Serial: r.Run.Serial,
		Started: r.Run.Started, Ended: r.Run.Ended, Profile: r.Run.Profile,
		Preset: r.Run.Preset, Keyword: r.Run.Keyword, Labels: r.Run.Labels, LastFailed: r.Run.Only,
		Simulated: Simulated(r), Loopback: r.Run.Loopback,
		Verdict: r.Verdict, Exit: r.Exit, Counts: r.Counts,
	}
	m.GPUs = make([]GPU, len(r.GPUs))
	for i, g := range r.GPUs {
		m.GPUs[i].GPU = g
	}
	if r.Node != nil {
		m.Run.Driver, m.Run.Product = r.Node.Driver.NVML, r.Node.Host.Product
		for i := range r.Node.GPUs { // the slots of r.GPUs
			g := &r.Node.GPUs[i]
			m.GPUs[i].PartNumber, m.GPUs[i].VBIOS, m.GPUs[i].InfoROM = g.PartNumber, g.VBIOS, g.InfoROM
		}
	}
	m.Findings = []Finding{}
	text := func(s string) string { return report.Cut(report.Line(s), maxFinding, "…") }
	for i, f := range report.Findings(r) {
		if i == maxFindings {
			break
		}
		one := Finding{
			GPUs: append([]string{}, f.Slots...), What: text(f.Title), Why: text(f.Why),
			Specs: len(f.Specs), Blocked: len(f.Blocked),
		}
		if len(f.Specs) > 0 {
			one.First = Failure{text(f.Specs[0].ID), text(f.Specs[0].Code), text(f.Specs[0].Message)}
		}
		m.Findings = append(m.Findings, one)
	}
}

// tellsOf says that the manifest tells what the results decide.
func (m *Manifest) tellsOf(r *report.Results) bool {
	var want Manifest
	want.tell(r)
	return sameJSON(m.Run, want.Run) && sameJSON(m.GPUs, want.GPUs) && sameJSON(m.Findings, want.Findings)
}

// Simulated says that a run, or the node that it discovered, was simulated.
func Simulated(r *report.Results) bool {
	return r.Run.Simulated || r.Node != nil && r.Node.Simulated != ""
}

// maxHost bounds the host's part of a name, in bytes.
const maxHost = 64

// Name is the name of a run's archive, without Suffix, and that of the folder
// in it: peerproof-node17-20260203T040506Z-fail.
func Name(r *report.Results) string {
	name := "peerproof-"
	if Simulated(r) {
		name += "SIMULATED-"
	}
	if r.Run.Loopback {
		name += "LOOPBACK-"
	}
	host := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
			return c
		}
		return '_'
	}, r.Run.Host)
	if len(host) > maxHost {
		host = host[:maxHost]
	}
	return name + host + "-" + r.Run.Started.UTC().Format("20060102T150405Z") + "-" + string(r.Verdict)
}

// encode is the manifest's one form.
func (m *Manifest) encode() ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	return jsontext.Escape(text.Bytes()), nil
}

// parseManifest reads a manifest. It takes the form that encode writes and no
// other, so that no two readers can see different things in it.
func parseManifest(text []byte) (*Manifest, error) {
	if len(text) > maxManifest {
		return nil, fmt.Errorf("it has %d bytes; expected at most %d", len(text), maxManifest)
	}
	var v struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("it is no JSON object: %w", err)
	}
	if v.Version != Version {
		return nil, fmt.Errorf("it has version %d; expected %d, the one that this peerproof knows", v.Version, Version)
	}
	m := &Manifest{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(m); err != nil {
		return nil, fmt.Errorf("it is no manifest: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the manifest; expected nothing")
	}
	again, err := m.encode()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, text) {
		return nil, errors.New("it is not as peerproof writes it; expected each field once, in its order and form")
	}
	return m, nil
}
