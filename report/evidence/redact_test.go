package evidence_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report/evidence"
	"github.com/peerproof/peerproof/report/internal/sample"
	"github.com/peerproof/peerproof/runner/journal"
)

const profileText = `version: 1
# of alice, node17
gpus: {count: 2}
waivers:
  - {spec: "memory/ecc", reason: "of dave, on node17", owner: dave, expires: 2027-01-31}
`

// talkative is a run whose every text names machine and people.
func talkative() *sample.Journal {
	const gossip = "node17.lab.example (NODE17, 10.20.30.40, de:ad:be:ef:00:01, bob@acme.example) /home/alice/x"
	j := new(sample.Journal)
	run := sample.Run()
	run.Simulated, run.Node, run.Host = false, "", host
	run.Args = []string{"run", "--profile", "/home/alice/racks/acme.yaml", "-k", "inventory/model"}
	run.Profile, run.ProfileText = "/home/alice/racks/acme.yaml", profileText
	j.Add(journal.Event{Type: journal.TypeRun, Run: run})
	n := sample.Node(2)
	n.Simulated, n.Host.Name = "", host
	n.GPUs[0].VBIOS = "96.00.15.00.01"
	j.Add(journal.Event{Type: journal.TypeNode, Node: n})
	j.Add(journal.Event{Type: journal.TypeNote, Text: gossip})
	j.Add(journal.Event{Type: journal.TypeChildEnd, Child: &journal.Child{PID: 1, Stdout: gossip, Stderr: "panic on " + gossip}})
	j.Check("inventory/model", "the model is the profile's", []string{"inventory"}, "gpu0", "gpu1")
	outcome := verdict.Failf("wrong-model", "%s", gossip)
	outcome.Hint = gossip
	j.Spec("inventory/model[gpu0]", &outcome)
	excused := verdict.Outcome{Verdict: verdict.Waived, Code: "wrong-model", Message: gossip, Waiver: &verdict.Waiver{
		Spec: "inventory/model*", Reason: gossip, Owner: "carol", Expires: "2027-01-31",
	}}
	j.Spec("inventory/model[gpu1]", &excused)
	return j.Finish("done", 1)
}

// collected writes files as they are read from a machine.
func collected(t *testing.T, in *evidence.Input) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "smi", "Node17\n/home/alice/train 10.20.30.40 1650001 GPU-00000001\n")
	var zip bytes.Buffer
	w := gzip.NewWriter(&zip)
	if _, err := io.WriteString(w, "kernel: node17 lab.example 10.20.30.40\n"); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	write(t, dir, "report", zip.String())
	in.Collected = map[string]string{evidence.SMIFile: filepath.Join(dir, "smi"), evidence.BugReportZip: filepath.Join(dir, "report")}
	in.Missing = []evidence.Missing{{What: "more", Why: "node17 did not answer"}}
}

// everything is all bytes of an unpacked archive, in lower case, what is
// compressed in it too.
func everything(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, e := range entries {
		text := read(t, dir, e.Name())
		if strings.HasSuffix(e.Name(), ".gz") {
			zip, err := gzip.NewReader(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			plain, err := io.ReadAll(zip)
			if err != nil {
				t.Fatal(err)
			}
			text = string(plain)
		}
		all.WriteString(e.Name() + "\n" + text + "\n")
	}
	return strings.ToLower(all.String())
}

func TestRedactedArchives(t *testing.T) {
	for name, serials := range map[string]bool{"with serials": false, "without serials": true} {
		t.Run(name, func(t *testing.T) {
			archive, packed := mustPack(t, talkative().String(), func(in *evidence.Input) {
				collected(t, in)
				in.Redaction = &evidence.Redaction{Serials: serials}
			})
			if !strings.HasPrefix(packed.Name, "peerproof-redacted-host-1-") {
				t.Errorf("name %s", packed.Name)
			}
			dir, top := mustUnpack(t, archive)
			accepted, said := verified(t, dir, top, check())
			if said != "" {
				t.Fatal(said)
			}
			m := accepted.Manifest
			if m.Redacted == nil || m.Redacted.Serials != serials || m.Redacted.Original.Lines != m.Journal.Lines || m.Redacted.Original.Head == m.Journal.Head {
				t.Errorf("redacted %+v, journal %+v", m.Redacted, m.Journal)
			}
			if head, err := journal.Verify(strings.NewReader(talkative().String())); err != nil || head.Hash != m.Redacted.Original.Head {
				t.Errorf("original head %s, want %s", m.Redacted.Original.Head, head.Hash)
			}
			all := everything(t, dir)
			gone := []string{"node17", "lab.example", "alice", "carol", "dave", "bob", "acme", "10.20.30.40", "de:ad:be:ef"}
			kept := []string{"0000:18:00.0", "nvidia h200", "96.00.15.00.01", "inventory/model[gpu0]"}
			identity := []string{"1650001", "gpu-00000001", "sn0042"}
			if serials {
				gone = append(gone, identity...)
			} else {
				kept = append(kept, identity...)
			}
			for _, text := range gone {
				if strings.Contains(all, text) {
					t.Errorf("%s is still in it: %s", text, regexp.MustCompile(".{0,80}"+regexp.QuoteMeta(text)).FindString(all))
				}
			}
			for _, text := range kept {
				if !strings.Contains(all, text) {
					t.Errorf("%s is no more in it", text)
				}
			}
			// One text, one word, in every document.
			for _, name := range []string{"results.json", "journal.jsonl", evidence.SMIFile} {
				if !strings.Contains(read(t, dir, name), "redacted-ip-1") {
					t.Errorf("%s does not name the address as the others do", name)
				}
			}
		})
	}
}

func TestWhatCannotBeRedactedIsNotPacked(t *testing.T) {
	redact := func(in *evidence.Input) { in.Redaction = &evidence.Redaction{} }
	named := func(host string) string {
		j := new(sample.Journal)
		run := sample.Run()
		run.Host = host
		j.Add(journal.Event{Type: journal.TypeRun, Run: run})
		j.Check("inventory/model", "the model is the profile's", []string{"inventory"}, "gpu0")
		return j.Spec("inventory/model[gpu0]", sample.Pass).Finish("done", 0).String()
	}
	for name, c := range map[string]struct{ text, want string }{
		"a name of the reports' own": {named("inventory"), `"inventory" would still be in it`},
		"a short one":                {named("vm.lab.example"), ""}, // nvml is another word
		"a short one of ours":        {named("gpu.lab.example"), `"gpu" would still be in it`},
		"a key of JSON":              {named("seq"), `"seq" would still be in it`},
		"a broken chain":             {strings.Replace(realRun().String(), `"pass"`, `"skip"`, 1), "expected a whole chain of hashes"},
	} {
		archive, _, err := pack(t, c.text, redact)
		var refused *evidence.RefusedError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) || len(archive) > 0):
			t.Errorf("%s: %d bytes, error %v, want %s", name, len(archive), err, c.want)
		}
	}
	// What a power cut left of the last line says nothing, and goes.
	whole := realRun().String()
	archive, packed := mustPack(t, whole[:len(whole)-20], redact)
	if p := packed.Manifest.Redacted.Original; !p.Verified || !strings.Contains(p.Problem, "torn") {
		t.Errorf("original %+v", p)
	}
	dir, top := mustUnpack(t, archive)
	if _, said := verified(t, dir, top, check()); said != "" {
		t.Error(said)
	}
}
