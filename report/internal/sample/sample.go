// Package sample makes journals for the tests of the reports, so that they
// need no run.
package sample

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/runner/journal"
)

// Start is when every sample run began.
var Start = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

// Journal is a sequence of events being made. The zero Journal is empty.
type Journal struct {
	lines int
	last  []byte
	text  bytes.Buffer
	out   io.Writer // where set, lines go there and are not kept
	at    time.Duration
}

// To makes a journal that is written to out line by line.
func To(out io.Writer) *Journal { return &Journal{out: out} }

// Add appends an event, a millisecond after the one before.
func (j *Journal) Add(e journal.Event) *Journal {
	j.lines++
	e.Seq = uint64(j.lines)
	if j.lines > 1 {
		sum := sha256.Sum256(j.last)
		e.Prev = hex.EncodeToString(sum[:])
	}
	j.at += time.Millisecond
	e.Time = Start.Add(j.at)
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // a sample is a constant
	}
	j.last = line
	out := j.out
	if out == nil {
		out = &j.text
	}
	if _, err := fmt.Fprintf(out, "%s\n", line); err != nil {
		panic(err) // a test's file
	}
	return j
}

// Wait lets time go by.
func (j *Journal) Wait(d time.Duration) *Journal {
	j.at += d
	return j
}

// Check adds a check of the plan.
func (j *Journal) Check(id, text string, labels []string, subjects ...string) *Journal {
	return j.Add(journal.Event{Type: journal.TypeCheck, Check: &journal.Check{
		ID: id, Text: text, Labels: labels, Where: "suite.go:1", Subjects: subjects,
	}})
}

// Spec adds the start, the figures and the end of one spec that ran half a
// second; a nil outcome leaves out the end.
func (j *Journal) Spec(id string, o *verdict.Outcome, figures ...verdict.Measurement) *Journal {
	j.Add(journal.Event{Type: journal.TypeStart, Spec: id})
	j.Add(journal.Event{Type: journal.TypeStep, Spec: id, Text: "copying 64 MiB repeatedly"})
	for i := range figures {
		j.Add(journal.Event{Type: journal.TypeMeasure, Spec: id, Measurement: &figures[i]})
	}
	if o != nil {
		j.Wait(500 * time.Millisecond)
		j.Add(journal.Event{Type: journal.TypeEnd, Spec: id, Outcome: o, Seconds: 0.5})
	}
	return j
}

// Settled adds the end of a spec that never ran.
func (j *Journal) Settled(id string, o verdict.Outcome) *Journal {
	return j.Add(journal.Event{Type: journal.TypeEnd, Spec: id, Outcome: &o})
}

// Finish adds the end of the run.
func (j *Journal) Finish(reason string, exit int) *Journal {
	return j.Add(journal.Event{Type: journal.TypeFinish, Finish: &journal.Finish{Reason: reason, Exit: exit}})
}

// String is the journal's text.
func (j *Journal) String() string { return j.text.String() }

// Events are the journal's events.
func (j *Journal) Events() []journal.Event {
	var all []journal.Event
	err := journal.Scan(strings.NewReader(j.String()), func(e journal.Event) error {
		all = append(all, e)
		return nil
	})
	if err != nil {
		panic(err) // Add wrote it
	}
	return all
}

// Node is an inventory of GPUs under one PCIe switch.
func Node(gpus int) *topology.Node {
	n := &topology.Node{Version: 1, Simulated: "sample", Host: topology.Host{Name: "node-17", Serial: "SN0042"}}
	for i := range gpus {
		n.GPUs = append(n.GPUs, topology.GPU{
			Slot: i, BusID: fmt.Sprintf("0000:%02x:00.0", 0x18+i), UUID: fmt.Sprintf("GPU-%08d", i),
			Serial: fmt.Sprintf("165%04d", i), Model: "NVIDIA H200", OnPCI: true, NVMLIndex: i, CUDAOrdinal: i,
			PCIe: topology.PCIe{GPUMaxGen: 5, GPUMaxWidth: 16, SlotMaxGen: 5, SlotMaxWidth: 16},
		})
		peers := make([]topology.Peer, gpus)
		for k := range peers {
			peers[k].Ancestor = "PIX"
		}
		n.Peers = append(n.Peers, peers)
	}
	return n
}

// Run is a simulated run of one node.
func Run() *journal.Run {
	return &journal.Run{
		ID: "0123456789abcdef", Tool: "peerproof 0.1.0", Host: "node-17", Simulated: true, Node: "sample",
		Args: []string{"run", "--node", "my node.yaml", "--out", "x", "--timeout=30s", "-v"},
	}
}

// Pass is a pass.
var Pass = &verdict.Outcome{Verdict: verdict.Pass}

// Bandwidth is a figure with floor, theory and samples.
func Bandwidth(value float64) verdict.Measurement {
	return verdict.Measurement{
		Name: "bandwidth", Value: value, Unit: "GB/s", Floor: 44.1, Theoretical: 63, Basis: "slot and GPU maximum",
		Samples: []float64{value, value + 0.25},
	}
}

// Broken is a run with every verdict in it, and text that means harm.
func Broken() *Journal {
	j := new(Journal)
	run := Run()
	j.Add(journal.Event{Type: journal.TypeRun, Run: run})
	j.Add(journal.Event{Type: journal.TypeQuestion, Question: &journal.Question{Key: "nvmlInit"}})
	n := Node(3)
	n.GPUs[2].Model = "NVIDIA <b>\x1b[31mH200\x1b[0m ]]> & \u202eco\u0000"
	j.Add(journal.Event{Type: journal.TypeNode, Node: n})
	j.Check("inventory/gpu-count", "the node has the GPUs that it should have", []string{"inventory", "gate"}, "")
	j.Check("inventory/model", "the model is the profile's", []string{"inventory"}, "gpu0", "gpu1", "gpu2")
	j.Check("link/nvlink-peer", "both ends name the same links", []string{"link"}, "")
	j.Check("dereference/read", "a remote load returns what the owner wrote", []string{"dereference", "data"}, "gpu0->gpu1", "gpu1->gpu0", "gpu2->gpu0")
	j.Check("bandwidth/write-ce", "a copy engine pushes at the path's floor or faster", []string{"bandwidth", "performance"},
		"gpu0->gpu1", "gpu0->gpu2", "gpu1->gpu0", "gpu1->gpu2", "gpu2->gpu0", "gpu2->gpu1")
	j.Check("bandwidth/symmetric", "both directions are alike", []string{"bandwidth"}, "gpu0-gpu1")
	j.Settled("inventory/gpu-count", verdict.Skipf("no-profile", "no profile says how many GPUs there should be"))
	j.Settled("link/nvlink-peer", verdict.Skipf(verdict.NoSubjects, "this node has no NVLink"))
	j.Spec("inventory/model[gpu0]", Pass)
	j.Spec("inventory/model[gpu1]", Pass)
	wrong := verdict.Failf("wrong-model", "the model is NVIDIA <b>\x1b[31mH200\x1b[0m ]]> & \u202eco\u0000, the profile says NVIDIA H200")
	j.Spec("inventory/model[gpu2]", &wrong)
	mismatch := verdict.Failf("data-mismatch", "4096 of 67108864 bytes in gpu1's memory are old\nthe first at offset 1048576\nexpected 0x01, found 0xff")
	mismatch.Hint = "the copy never arrived: see whether an IOMMU translates peer traffic"
	j.Spec("dereference/read[gpu0->gpu1]", &mismatch)
	j.Spec("dereference/read[gpu1->gpu0]", Pass)
	crash := verdict.Errorf(verdict.Crash, "the child died of SIGSEGV while copying 64 MiB repeatedly")
	j.Spec("dereference/read[gpu2->gpu0]", &crash, verdict.Measurement{Name: "loads", Value: 8.4e-05, Unit: "s"})
	slow := verdict.Failf("below-floor", "38.2 GB/s is below the floor 44.1 of gpu0->gpu1 over PIX")
	slow.Hint = "the PCIe link of gpu1 runs at gen4 x16 under load, slot and GPU can do gen5 x16: reseat the GPU or its riser"
	for _, pair := range []string{"gpu0->gpu1", "gpu0->gpu2", "gpu1->gpu0", "gpu1->gpu2"} {
		j.Spec("bandwidth/write-ce["+pair+"]", &slow, Bandwidth(38.2))
	}
	j.Spec("bandwidth/write-ce[gpu2->gpu0]", Pass, Bandwidth(54.3))
	waived := verdict.Outcome{Verdict: verdict.Waived, Code: "below-floor", Message: "riser on order, by the lab, until 2026-03-01"}
	j.Spec("bandwidth/write-ce[gpu2->gpu1]", &waived, Bandwidth(41))
	j.Settled("bandwidth/symmetric[gpu0-gpu1]", verdict.Errorf(verdict.BlockedBy, "blocked by bandwidth/write-ce[gpu0->gpu1]: below-floor"))
	return j.Finish("done", 1)
}
