// Makefleet makes the folders of many servers from the journal of one run, for
// measuring and verifying peerproof fleet: every server has its own host name,
// serial numbers and figures, with noise on them, and a few are planted to be
// found. What is planted is printed, one thing a line.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/runner/journal"
)

func main() {
	base := flag.String("base", "", "folder of the run to vary")
	out := flag.String("out", "", "folder to make the servers in")
	n := flag.Int("n", 1000, "how many servers")
	seed := flag.Uint64("seed", 1, "of the noise")
	planted := flag.String("planted", "", "with -check: file with what was planted")
	report := flag.String("check", "", "a fleet.json to compare with what was planted, instead of making anything")
	flag.Parse()
	var err error
	if *report != "" {
		err = check(*planted, *report)
	} else {
		err = makeFleet(*base, *out, *n, *seed)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "makefleet:", err)
		os.Exit(1)
	}
}

// The usual spread of figures, as fractions: of servers, of the GPUs of one
// server, and of the pairs of two GPUs.
const (
	serverNoise = 0.005
	gpuNoise    = 0.004
	pairNoise   = 0.006
)

// slow is how fast what is planted is, next to the others.
const slow = 0.92

func makeFleet(base, out string, n int, seed uint64) error {
	text, err := os.ReadFile(filepath.Join(base, "journal.jsonl"))
	if err != nil {
		return err
	}
	results, err := report.Build(strings.NewReader(string(text)))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	var begin journal.Event
	if err := json.Unmarshal([]byte(first), &begin); err != nil {
		return err
	}
	for i := range n {
		s := server{number: i, of: n, rng: rand.New(rand.NewPCG(seed, uint64(i)))}
		r := s.vary(results)
		dir := filepath.Join(out, r.Run.Host)
		if err := s.write(dir, r, begin); err != nil {
			return err
		}
	}
	return broken(out, text)
}

// broken makes the folders that are no good runs.
func broken(out string, text []byte) error {
	files := map[string][]byte{
		"broken/results.json":        []byte(`{"version":1,"run":{"id":"broken","host":"broken"},"specs":[{"id":`),
		"half-written/journal.jsonl": text[:len(text)/2],
		"foreign/README":             []byte("photographs\n"),
		"newer/results.json":         []byte(`{"version":2,"run":{"id":"tomorrow"}}`),
	}
	for name, text := range files {
		path := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
		fmt.Println("folder", filepath.Dir(name))
	}
	return nil
}

type server struct {
	number, of int
	rng        *rand.Rand
	whole      float64            // how fast it is, next to the others
	gpus       map[string]float64 // likewise, by slot
	pairs      map[string]float64 // likewise, by subject; those that are missing are as the others
	check      map[string]float64 // noise by check, and by check and slot
}

func (s *server) is(part int) bool { return s.of >= 20 && s.number == s.of*part/10 }

func (s *server) around(sigma float64) float64 { return 1 + sigma*s.rng.NormFloat64() }

// vary makes the results of another server of them.
func (s *server) vary(base *report.Results) *report.Results {
	r := *base
	r.Run.Host = fmt.Sprintf("node%04d", s.number)
	r.Run.ID = fmt.Sprintf("%s-%04d", base.Run.ID, s.number)
	r.GPUs = slices.Clone(base.GPUs)
	r.Node = base.Node.Clone()
	r.Node.Host.Name, r.Node.Host.Serial = r.Run.Host, fmt.Sprintf("S%07d", s.number)
	s.whole, s.gpus, s.pairs = 1, map[string]float64{}, map[string]float64{}
	if s.is(3) {
		s.whole = slow
		fmt.Println("slow server", r.Run.Host)
	}
	for i := range r.GPUs {
		g := &r.GPUs[i]
		g.Serial = fmt.Sprintf("16%07d%04d", s.number, i)
		g.UUID = fmt.Sprintf("GPU-%08x-0000-4000-8000-%012x", s.number, i)
		r.Node.GPUs[i].Serial, r.Node.GPUs[i].UUID = g.Serial, g.UUID
		s.gpus[g.Slot] = 1
	}
	if s.is(5) {
		s.gpus["gpu2"] = slow
		fmt.Println("slow gpu", r.Run.Host, "gpu2")
	}
	if s.is(7) {
		s.pairs["gpu1->gpu4"] = slow
		fmt.Println("slow pair", r.Run.Host, "gpu1->gpu4")
	}
	if s.is(2) {
		r.Node.Driver.NVML, r.Node.Driver.KernelModule = "570.11.22", "570.11.22"
		fmt.Println("drift", r.Run.Host, "570.11.22")
	}
	s.check = map[string]float64{}
	r.Specs = slices.Clone(base.Specs)
	for i := range r.Specs {
		s.figures(&r.Specs[i])
	}
	return &r
}

// figures varies those of one spec, samples and all.
func (s *server) figures(spec *report.Spec) {
	spec.Measurements = slices.Clone(spec.Measurements)
	check, subject, _ := strings.Cut(strings.TrimSuffix(spec.ID, "]"), "[")
	for i := range spec.Measurements {
		m := &spec.Measurements[i]
		of := subject
		if at := strings.LastIndexByte(m.Name, ' '); of == "" && at > 0 {
			of = m.Name[at+1:]
		}
		f := s.factor(check, of)
		switch m.Unit {
		case "GB/s", "TFLOPS":
		case "ns", "us":
			f = 1 / f
		default:
			continue
		}
		m.Value *= f
		m.Samples = slices.Clone(m.Samples)
		for k := range m.Samples {
			m.Samples[k] *= f
		}
	}
}

// factor is how fast a subject is in a check.
func (s *server) factor(check, subject string) float64 {
	noise := func(name string, sigma float64) float64 {
		if s.check[name] == 0 {
			s.check[name] = s.around(sigma)
		}
		return s.check[name]
	}
	f := s.whole * noise(check, serverNoise) * s.around(pairNoise)
	from, to, _ := strings.Cut(strings.Replace(subject, "->", "-", 1), "-")
	for _, slot := range []string{from, to} {
		if own, ok := s.gpus[slot]; ok {
			f *= own * noise(check+slot, gpuNoise)
		}
	}
	if own, ok := s.pairs[subject]; ok {
		f *= own
	}
	return f
}

// write makes the folder. Of the journal it writes the two ends, which is what
// a fleet reads of it where results.json is as it should be.
func (s *server) write(dir string, r *report.Results, begin journal.Event) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	run := *begin.Run
	run.ID, run.Host = r.Run.ID, r.Run.Host
	begin.Run = &run
	lines, err := events(begin, journal.Event{
		Seq: 2, Time: r.Run.Ended.Add(time.Duration(s.number)), Type: journal.TypeFinish, Finish: &journal.Finish{Reason: "done", Exit: r.Exit},
	})
	if err != nil {
		return err
	}
	r.Run.Ended = r.Run.Ended.Add(time.Duration(s.number))
	if s.is(1) { // one that failed
		spec := &r.Specs[slices.IndexFunc(r.Specs, func(s report.Spec) bool { return s.Check() == "bandwidth/write-ce" })]
		r.Counts.Pass--
		r.Counts.Fail++
		r.Verdict, r.Exit = verdict.Fail, 1
		spec.Verdict, spec.Code, spec.Message = verdict.Fail, "below-floor", "planted"
		fmt.Println("failed", r.Run.Host, spec.ID)
	}
	return errs(
		os.WriteFile(filepath.Join(dir, "journal.jsonl"), lines, 0o644),
		file(filepath.Join(dir, "results.json"), func(w io.Writer) error { return report.WriteJSON(w, r) }),
		file(filepath.Join(dir, "node.json"), func(w io.Writer) error { return json.NewEncoder(w).Encode(r.Node) }),
	)
}

func events(all ...journal.Event) (text []byte, err error) {
	var line []byte
	for _, e := range all {
		if line != nil {
			sum := sha256.Sum256(line)
			e.Prev = hex.EncodeToString(sum[:])
		}
		if line, err = json.Marshal(e); err != nil {
			return nil, err
		}
		text = append(append(text, line...), '\n')
	}
	return text, nil
}

func file(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	return errs(write(w), w.Flush(), f.Close())
}

func errs(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}
