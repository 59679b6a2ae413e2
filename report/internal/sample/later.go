package sample

import (
	"time"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/runner/journal"
)

// steady is a bandwidth of five samples.
func steady(value float64) verdict.Measurement {
	return verdict.Measurement{
		Name: "bandwidth", Value: value, Unit: "GB/s", Floor: 44.1, Theoretical: 63,
		Samples: []float64{value, value, value * 1.01, value * 0.99, value},
	}
}

// Pair is a run of a server and a later one, after somebody worked on it: with
// everything that can change between two runs, and text that means harm.
func Pair() (before, after *Journal) {
	plan := func(j *Journal, subjects ...string) {
		j.Check("inventory/model", "the model is the profile's", nil, "gpu0", "gpu1", "gpu2")
		j.Check("memory/march", "memory keeps what is written", nil, "gpu0", "gpu1", "gpu2")
		j.Check("bandwidth/write-ce", "a copy engine pushes at the path's floor or faster", nil, subjects...)
		j.Check("latency/chase", "a load takes its time", nil, "gpu0->gpu1")
	}
	latency := func(ns float64) verdict.Measurement {
		return verdict.Measurement{Name: "load latency", Value: ns, Unit: "ns", Samples: []float64{ns, ns + 1, ns - 1}}
	}
	wrong := verdict.Failf("data-mismatch", "bit 3 of \x1b[2J<b>0x40</b>")
	slow := verdict.Failf("below-floor", "38.2 GB/s is below the floor 44.1")
	hang := verdict.Errorf(verdict.Hang, "did not end within 30s")
	skip := verdict.Skipf("no-profile", "no profile\u202e says what the model is")
	waived := slow.Waive(verdict.Waiver{Spec: "bandwidth/*", Reason: "riser on order", Owner: "the lab", Expires: "2026-03-01"})

	before = new(Journal).Add(journal.Event{Type: journal.TypeRun, Run: Run()})
	n := Node(3)
	n.Driver.NVML, n.GPUs[0].VBIOS, n.GPUs[1].VBIOS, n.GPUs[2].VBIOS = "580.95.05", "96.00", "96.00", "96.00"
	before.Add(journal.Event{Type: journal.TypeNode, Node: n})
	plan(before, "gpu0->gpu1", "gpu0->gpu2", "gpu1->gpu0", "gpu1->gpu2", "gpu2->gpu0", "gpu2->gpu1")
	for _, id := range []string{"inventory/model[gpu0]", "inventory/model[gpu1]", "inventory/model[gpu2]", "memory/march[gpu0]"} {
		before.Spec(id, Pass)
	}
	before.Spec("memory/march[gpu1]", &wrong).Spec("memory/march[gpu2]", &wrong)
	before.Spec("bandwidth/write-ce[gpu0->gpu1]", Pass, steady(54)).Spec("bandwidth/write-ce[gpu0->gpu2]", Pass, steady(54))
	before.Spec("bandwidth/write-ce[gpu1->gpu0]", Pass, steady(54)).Spec("bandwidth/write-ce[gpu1->gpu2]", &slow, steady(38.2))
	before.Spec("bandwidth/write-ce[gpu2->gpu0]", &slow, steady(38.2)).Spec("bandwidth/write-ce[gpu2->gpu1]", Pass, steady(54))
	before.Spec("latency/chase[gpu0->gpu1]", Pass, latency(700))
	before.Finish("done", 1)

	run := Run()
	run.ID, run.Tool, run.Preset, run.Keyword = "fedcba9876543210", "peerproof 0.2.0", "rma", "not \x1b]0;title\a"
	after = new(Journal).Wait(24 * time.Hour).Add(journal.Event{Type: journal.TypeRun, Run: run})
	n = Node(3)
	n.Driver.NVML, n.GPUs[0].VBIOS, n.GPUs[1].VBIOS, n.GPUs[2].VBIOS = "580.126.01", "97.00", "97.00", "96\u202e.00"
	n.GPUs[1].UUID, n.GPUs[1].Serial = "GPU-new", "99\x1b[31m"
	after.Add(journal.Event{Type: journal.TypeNode, Node: n})
	plan(after, "gpu0->gpu1", "gpu0->gpu2", "gpu1->gpu0", "gpu1->gpu2", "gpu2->gpu0")
	for _, id := range []string{"inventory/model[gpu0]", "inventory/model[gpu1]", "inventory/model[gpu2]"} {
		after.Spec(id, &skip)
	}
	after.Spec("memory/march[gpu0]", &wrong).Spec("memory/march[gpu1]", Pass).Spec("memory/march[gpu2]", &hang)
	after.Spec("bandwidth/write-ce[gpu0->gpu1]", &slow, steady(38.2)).Spec("bandwidth/write-ce[gpu0->gpu2]", &slow, steady(37))
	after.Spec("bandwidth/write-ce[gpu1->gpu0]", &waived, steady(41)).Spec("bandwidth/write-ce[gpu1->gpu2]", Pass, steady(54))
	after.Spec("bandwidth/write-ce[gpu2->gpu0]", &slow, steady(38))
	after.Spec("latency/chase[gpu0->gpu1]", Pass, latency(900))
	after.Finish("done", 1)
	return before, after
}
