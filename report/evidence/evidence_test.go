package evidence_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/evidence"
	"github.com/peerproof/peerproof/report/internal/sample"
	"github.com/peerproof/peerproof/report/junit"
	"github.com/peerproof/peerproof/runner/journal"
)

var documents = []evidence.Document{{Name: "results.json", Write: report.WriteJSON}, {Name: "junit.xml", Write: junit.Write}}

var packedAt = time.Date(2026, 2, 4, 5, 6, 7, 0, time.UTC)

// host is the name of the machine that the sample run is of.
const host = "node17.lab.example"

// realRun is a run of real GPUs with a failure, an Xid, and traces of a person.
func realRun() *sample.Journal {
	j := new(sample.Journal)
	run := sample.Run()
	run.Simulated, run.Node, run.Host = false, "", host
	run.Args = []string{"run", "--profile", "/home/alice/racks/acme.yaml", "--out=../alices/run1", "-k", "inventory/model or transfer"}
	run.Preset, run.Keyword = "rma", "inventory/model or transfer"
	j.Add(journal.Event{Type: journal.TypeRun, Run: run})
	n := sample.Node(2)
	n.Simulated, n.Host.Name = "", host
	n.GPUs[0].VBIOS = "96.00.15.00.01"
	j.Add(journal.Event{Type: journal.TypeNode, Node: n})
	j.Check("inventory/model", "the model is the profile's", []string{"inventory"}, "gpu0", "gpu1")
	j.Add(journal.Event{Type: journal.TypeXid, Xid: &topology.Xid{
		BusID: "0000:18:00", Code: 79, Source: topology.FromKernelLog,
		Text: "GPU has fallen off the bus on NODE17, seen from 10.20.30.40", Specs: []string{"inventory/model[gpu0]"},
	}})
	j.Spec("inventory/model[gpu0]", sample.Pass)
	j.Spec("inventory/model[gpu1]", sample.Pass)
	return j.Finish("done", 0)
}

// pack packs a journal's text and returns the archive and what was said of it.
func pack(t testing.TB, text string, change func(*evidence.Input)) ([]byte, *evidence.Packed, error) {
	t.Helper()
	dir := t.TempDir()
	in := evidence.Input{
		Journal: filepath.Join(dir, "journal"), Documents: documents, Tool: "peerproof 0.1.0", Created: packedAt,
		Binary: strings.Repeat("ab", 32),
	}
	if err := os.WriteFile(in.Journal, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&in)
	}
	staging := filepath.Join(dir, "staging")
	if err := os.Mkdir(staging, 0o700); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	packed, err := evidence.Pack(staging, in, func(string) (io.WriteCloser, error) { return nothingToClose{&archive}, nil })
	return archive.Bytes(), packed, err
}

func mustPack(t testing.TB, text string, change func(*evidence.Input)) ([]byte, *evidence.Packed) {
	t.Helper()
	archive, packed, err := pack(t, text, change)
	if err != nil {
		t.Fatal(err)
	}
	return archive, packed
}

type nothingToClose struct{ io.Writer }

func (nothingToClose) Close() error { return nil }

// unpack unpacks an archive into a new folder.
func unpack(t testing.TB, archive []byte) (dir, top string, err error) {
	t.Helper()
	dir = t.TempDir()
	top, err = evidence.Unpack(bytes.NewReader(archive), evidence.DefaultLimits, func(name string) (io.WriteCloser, error) {
		return os.Create(filepath.Join(dir, name))
	})
	return dir, top, err
}

func mustUnpack(t testing.TB, archive []byte) (dir, top string) {
	t.Helper()
	dir, top, err := unpack(t, archive)
	if err != nil {
		t.Fatal(err)
	}
	return dir, top
}

func check() evidence.Check {
	return evidence.Check{Documents: documents, Tool: "peerproof 0.1.0", Now: packedAt}
}

// verified is what Verify says of a folder: nothing, or the parts it refuses.
func verified(t testing.TB, dir, top string, c evidence.Check) (*evidence.Accepted, string) {
	t.Helper()
	accepted, refused, err := evidence.Verify(os.DirFS(dir), top, c)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, r := range refused {
		said = append(said, r.Error())
	}
	if (accepted == nil) == (len(refused) == 0) {
		t.Fatalf("accepted %v, refused %v", accepted, refused)
	}
	return accepted, strings.Join(said, "\n")
}

// newKey is a key pair, and the private one as ssh-keygen writes it.
func newKey(t testing.TB) (ssh.Signer, []byte) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	return signer, pem.EncodeToMemory(block)
}

func signedBy(key ssh.Signer) func(*evidence.Input) {
	return func(in *evidence.Input) {
		in.Sign = func(sums []byte) ([]byte, error) { return evidence.Sign(sums, key) }
	}
}

func TestWhatIsPackedIsAccepted(t *testing.T) {
	for name, text := range map[string]string{
		"real": realRun().String(), "simulated, with hostile texts": sample.Broken().String(),
		"cut off": realRun().String()[:3000],
	} {
		t.Run(name, func(t *testing.T) {
			archive, packed := mustPack(t, text, nil)
			dir, top := mustUnpack(t, archive)
			if top != packed.Name {
				t.Errorf("folder %s, name %s", top, packed.Name)
			}
			accepted, said := verified(t, dir, top, check())
			if said != "" {
				t.Fatal(said)
			}
			if accepted.Key != "" || !accepted.Manifest.Created.Equal(packedAt) || !accepted.Manifest.Journal.Verified {
				t.Errorf("%+v", accepted)
			}
		})
	}
}

func TestAnArchiveIsTheSameEachTime(t *testing.T) {
	first, packed := mustPack(t, realRun().String(), nil)
	second, _ := mustPack(t, realRun().String(), nil)
	if !bytes.Equal(first, second) {
		t.Error("two archives of one journal differ")
	}
	if want := "peerproof-node17.lab.example-20260203T040506Z-pass"; packed.Name != want {
		t.Errorf("name %s, want %s", packed.Name, want)
	}
	zip, err := gzip.NewReader(bytes.NewReader(first))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.TrimPrefix(h.Name, packed.Name))
		if h.Uid != 0 || h.Uname != "root" || h.ModTime.Year() != 2026 || h.ModTime.Month() != 2 {
			t.Errorf("%s: owner %d %s, time %s", h.Name, h.Uid, h.Uname, h.ModTime)
		}
	}
	want := "/ /SHA256SUMS /journal.jsonl /junit.xml /kernel.txt /manifest.json /node.json /results.json"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("entries %s, want %s", got, want)
	}
}

func TestNamesSayWhatIsNoEvidence(t *testing.T) {
	r := &report.Results{Verdict: "fail"}
	r.Run.Host, r.Run.Started = "a/../b c\x1b\u202e", sample.Start
	r.Run.Simulated, r.Run.Loopback = true, true
	if got, want := evidence.Name(r), "peerproof-SIMULATED-LOOPBACK-a_.._b_c__-20260203T040506Z-fail"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r.Run.Simulated, r.Node = false, &topology.Node{Simulated: "x"}
	if !evidence.Simulated(r) {
		t.Error("a simulated inventory is taken for hardware")
	}
	r.Run.Host = strings.Repeat("h", 300)
	if n := len(evidence.Name(r)); n > 150 {
		t.Errorf("a name of %d bytes", n)
	}
}

// tools are what a vendor has: sha256sum and ssh-keygen in the unpacked folder.
func tools(t *testing.T, dir, signers string) (sums, signature bool) {
	t.Helper()
	ok := func(stdin string, name string, args ...string) bool {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		if stdin != "" {
			in, err := os.Open(stdin)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			cmd.Stdin = in
		}
		out, err := cmd.CombinedOutput()
		t.Logf("%s: %v %s", name, err, out)
		return err == nil
	}
	sums = ok("", "sha256sum", "--strict", "-c", "SHA256SUMS")
	signature = ok(filepath.Join(dir, "SHA256SUMS"), "ssh-keygen", "-Y", "verify", "-f", signers, "-I", "lab@example.com",
		"-n", evidence.Namespace, "-s", "SHA256SUMS.sig")
	return sums, signature
}

func needTools(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"sha256sum", "ssh-keygen"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed here: coreutils and openssh-client have it", tool)
		}
	}
}

// What a vendor's tools accept and refuse is what Verify accepts and refuses,
// whichever file was changed.
func TestVendorsToolsAndVerifyAgree(t *testing.T) {
	needTools(t)
	key, _ := newKey(t)
	archive, _ := mustPack(t, realRun().String(), signedBy(key))
	line := "lab@example.com " + string(ssh.MarshalAuthorizedKey(key.PublicKey()))
	signers := filepath.Join(t.TempDir(), "allowed_signers")
	if err := os.WriteFile(signers, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	c := check()
	c.Identity = "lab@example.com"
	var err error
	if c.Signers, err = evidence.ParseSigners([]byte(line)); err != nil {
		t.Fatal(err)
	}
	whole, top := mustUnpack(t, archive)
	accepted, said := verified(t, whole, top, c)
	if said != "" || !slices.Equal(accepted.Signers, []string{"lab@example.com"}) {
		t.Fatalf("signers %v, said %s", accepted, said)
	}
	if sums, signature := tools(t, whole, signers); !sums || !signature {
		t.Fatalf("sha256sum %t, ssh-keygen %t", sums, signature)
	}
	entries, err := os.ReadDir(whole)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 8 {
		t.Fatalf("%d files", len(entries))
	}
	for _, e := range entries {
		t.Run(e.Name(), func(t *testing.T) {
			dir, top := mustUnpack(t, archive)
			path := filepath.Join(dir, e.Name())
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text[len(text)/2] ^= 1
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			_, said := verified(t, dir, top, c)
			if !strings.Contains(said, e.Name()+": ") || !strings.Contains(said, "expected") {
				t.Errorf("Verify said %q", said)
			}
			sums, signature := tools(t, dir, signers)
			// The signature is over SHA256SUMS, which is over all others.
			if wantSums := e.Name() == evidence.SignatureFile; sums != wantSums {
				t.Errorf("sha256sum: %t", sums)
			}
			if wantSignature := !strings.HasPrefix(e.Name(), evidence.SumsFile); signature != wantSignature {
				t.Errorf("ssh-keygen: %t", signature)
			}
			if strings.HasPrefix(e.Name(), evidence.SumsFile) {
				return
			}
			// Whoever changes SHA256SUMS too cannot sign it.
			resum(t, dir)
			if _, said := verified(t, dir, top, c); !strings.Contains(said, evidence.SignatureFile) {
				t.Errorf("with new sums, Verify said %q", said)
			}
			if sums, signature := tools(t, dir, signers); !sums || signature {
				t.Errorf("with new sums: sha256sum %t, ssh-keygen %t", sums, signature)
			}
		})
	}
}
