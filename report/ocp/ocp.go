// Package ocp writes a run's results as the Open Compute Project's Test and
// Validation output, version 2.0: JSON lines that test executives of data
// centres read. A test step is a check; its diagnoses are the check's specs.
package ocp

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

const (
	// maxSpecs is the number of specs above which a step sums up those that
	// passed, and names only its first maxNamed of the others.
	maxSpecs = 20_000
	maxNamed = 200
	// maxTold bounds how many specs of a smaller run have their whole message.
	maxTold    = 2_000
	maxMessage = 4 << 10 // bytes of a message
	maxLine    = 300     // of any other text, and of the messages after those
)

// Write writes the lines. They are a pure function of the results.
func Write(w io.Writer, r *report.Results) error {
	d := document{results: r, enc: json.NewEncoder(w), at: r.Run.Started, hardware: map[string]string{}}
	d.enc.SetEscapeHTML(false) // an id holds "->"
	d.emit(output{SchemaVersion: &schemaVersion{Major: 2, Minor: 0}})
	d.start()
	for i, step := range steps(r.Specs) {
		d.step(strconv.Itoa(i), step)
	}
	d.at = r.Run.Ended
	d.emit(output{TestRunArtifact: &runArtifact{TestRunEnd: end(r)}})
	return d.err
}

// document is one file being written.
type document struct {
	results  *report.Results
	enc      *json.Encoder
	err      error // the first one
	sequence int
	at       time.Time         // of the artifacts being written
	hardware map[string]string // hardwareInfoId by slot
	software []string          // ids of the driver's parts
	told     int               // specs with their whole message
}

func (d *document) emit(o output) {
	o.SequenceNumber, o.Timestamp = d.sequence, d.at.UTC()
	d.sequence++
	if err := d.enc.Encode(o); d.err == nil && err != nil {
		d.err = fmt.Errorf("artifact %d: %w", o.SequenceNumber, err)
	}
}

// text makes a text from a node or driver safe to show.
func text(s string) string { return report.Cut(report.Line(s), maxLine, "…") }

func (d *document) start() {
	r := d.results
	name, version, found := strings.Cut(r.Run.Tool, " ")
	if !found {
		name, version = "peerproof", r.Run.Tool
	}
	start := &runStart{
		Name: text(name), Version: orElse(text(version), "unknown"), CommandLine: text("peerproof " + strings.Join(r.Run.Args, " ")),
		Parameters: map[string]any{"simulated": r.Run.Simulated, "loopback": r.Run.Loopback, "profile": text(r.Run.Profile), "node": text(r.Run.Node)},
		DUTInfo:    d.dut(),
		Metadata:   map[string]any{"run": text(r.Run.ID)},
	}
	marks := r.Run.Marks()
	if marks != "" {
		start.Name = marks + " " + start.Name
		start.Metadata["marks"] = marks
	}
	d.emit(output{TestRunArtifact: &runArtifact{TestRunStart: start}})
	warn := func(message string) {
		d.emit(output{TestRunArtifact: &runArtifact{Log: &log{severityWarning, text(message)}}})
	}
	if r.Run.Simulated {
		warn("SIMULATED: no real GPU was tested")
	}
	if r.Run.Loopback {
		warn("LOOPBACK: each GPU was its own peer")
	}
	const maxWarnings = 100
	for i, w := range r.Warnings {
		if i == maxWarnings {
			warn(fmt.Sprintf("and %d more warnings in results.json", len(r.Warnings)-i))
			break
		}
		warn(w)
	}
}

// dut describes the server.
func (d *document) dut() dutInfo {
	r := d.results
	dut := dutInfo{ID: "0", Name: text(r.Run.Host)}
	software := func(kind, name, version string) string {
		if version = text(version); version == "" {
			return ""
		}
		id := strconv.Itoa(len(dut.SoftwareInfos))
		dut.SoftwareInfos = append(dut.SoftwareInfos, softwareInfo{ID: id, Name: name, Version: version, Type: kind})
		return id
	}
	if serial := text(r.Run.Serial); serial != "" {
		dut.PlatformInfos = append(dut.PlatformInfos, platformInfo{"serial number " + serial})
	}
	if n := r.Node; n != nil {
		if product := text(n.Host.Product); product != "" {
			dut.PlatformInfos = append(dut.PlatformInfos, platformInfo{product})
		}
		software(softwareSystem, "Linux kernel", n.Host.Kernel)
		cuda := ""
		if n.Driver.CUDA > 0 {
			cuda = fmt.Sprintf("%d.%d", n.Driver.CUDA/1000, n.Driver.CUDA%1000/10)
		}
		for _, part := range [][2]string{
			{"NVIDIA kernel module", n.Driver.KernelModule}, {"NVML", n.Driver.NVML}, {"CUDA driver", cuda}, {"NVIDIA Fabric Manager", n.Host.FabricManager},
		} {
			if id := software(softwareSystem, part[0], part[1]); id != "" {
				d.software = append(d.software, id)
			}
		}
		for i := range n.GPUs {
			software(softwareFirmware, fmt.Sprintf("VBIOS of gpu%d", n.GPUs[i].Slot), n.GPUs[i].VBIOS)
		}
	}
	for i := range r.GPUs {
		g := &r.GPUs[i]
		id := strconv.Itoa(i)
		d.hardware[g.Slot] = id
		dut.HardwareInfos = append(dut.HardwareInfos, hardwareInfo{
			ID: id, Name: strings.TrimSpace(g.Slot + " " + text(g.Model)), Location: text(g.BusID), SerialNumber: text(g.Serial),
			PartType: "GPU", Manufacturer: "NVIDIA",
		})
	}
	return dut
}

// end is how the whole run ended, in one of the four pairs that the
// specification allows.
func end(r *report.Results) *runEnd {
	const interrupted = 2
	switch {
	case report.ProvesNothing(r.Warnings):
		return &runEnd{statusError, resultNone}
	case r.Verdict == verdict.Fail: // also where the run did not come to its end
		return &runEnd{statusComplete, resultFail}
	case r.Verdict == verdict.Skip || r.Exit == interrupted:
		return &runEnd{statusSkip, resultNone}
	case r.Verdict == verdict.Error:
		return &runEnd{statusError, resultNone}
	default:
		return &runEnd{statusComplete, resultPass}
	}
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
