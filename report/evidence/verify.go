package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/peerproof/peerproof/report"
)

// Check is what Verify holds an archive against.
type Check struct {
	Documents []Document
	Tool      string    // that verifies, to tell from the one that packed
	Signers   []Signer  // who may have signed; nil: whoever did
	Identity  string    // which of them must have; "": any
	Now       time.Time // signers may be valid for a time
}

// Accepted is what Verify found in an archive that it accepts.
type Accepted struct {
	Manifest *Manifest
	// Key is the fingerprint of the key that signed, "" where nobody did, and
	// Signers are those of the check that vouch for it.
	Key     string
	Signers []string
}

// maxSmall bounds what is read into memory of SHA256SUMS and its signature.
const maxSmall = 1 << 20

// Verify checks the files of an archive, as Unpack found them in a folder named
// top. It returns all reasons to refuse it, each a *RefusedError; an error is
// one of reading.
func Verify(dir fs.FS, top string, c Check) (*Accepted, []*RefusedError, error) {
	v := verifier{dir: dir, top: top, Check: c}
	if err := v.files(); err != nil {
		return nil, nil, err
	}
	v.manifest()
	if v.found.Manifest != nil {
		if err := v.contents(); err != nil {
			return nil, nil, err
		}
	}
	v.signature()
	if len(v.refused) > 0 {
		return nil, v.refused, nil
	}
	return &v.found, nil, nil
}

type verifier struct {
	Check
	dir     fs.FS
	top     string
	listed  []File // all files that are there, but SHA256SUMS and its signature
	sums    []byte
	found   Accepted
	refused []*RefusedError
}

func (v *verifier) refuse(part, format string, args ...any) {
	v.refused = append(v.refused, refuse(part, format, args...))
}

// small reads a file that must be small; it refuses others, and missing ones.
func (v *verifier) small(name string, limit int64) ([]byte, bool) {
	file, err := v.dir.Open(name)
	if err != nil {
		v.refuse(name, "it is missing; expected it in every archive")
		return nil, false
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil || int64(len(text)) > limit {
		v.refuse(name, "it cannot be read or has more than %d bytes; expected less", limit)
		return nil, false
	}
	return text, true
}

// files holds what is there against SHA256SUMS.
func (v *verifier) files() error {
	entries, err := fs.ReadDir(v.dir, ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == SumsFile || e.Name() == SignatureFile {
			continue
		}
		f, err := measure(v.dir, e.Name())
		if err != nil {
			return err
		}
		v.listed = append(v.listed, f)
	}
	var ok bool
	if v.sums, ok = v.small(SumsFile, maxSmall); !ok {
		return nil
	}
	sums, err := parseSums(string(v.sums))
	if err != nil {
		v.refuse(SumsFile, "%v", err)
		return nil
	}
	for _, f := range v.listed {
		switch sum, named := sums[f.Name]; {
		case !named:
			v.refuse(f.Name, "it is not in %s; expected the files that are named there and no others", SumsFile)
		case sum != f.SHA256:
			v.refuse(f.Name, "its SHA-256 is %s; expected %s, which %s says", f.SHA256, sum, SumsFile)
		}
		delete(sums, f.Name)
	}
	for name := range sums {
		v.refuse(name, "it is missing; expected it, since %s names it", SumsFile)
	}
	slices.SortFunc(v.refused, func(a, b *RefusedError) int { return strings.Compare(a.Part, b.Part) })
	return nil
}

// manifest reads the manifest and holds it against the files.
func (v *verifier) manifest() {
	text, ok := v.small(ManifestFile, maxManifest)
	if !ok {
		return
	}
	m, err := parseManifest(text)
	if err != nil {
		v.refuse(ManifestFile, "%v", err)
		return
	}
	var files []File
	for _, f := range v.listed {
		if f.Name != ManifestFile {
			files = append(files, f)
		}
	}
	if !slices.Equal(files, m.Files) {
		v.refuse(ManifestFile, "it lists other files, sizes or hashes than there are; expected those in the archive")
	}
	v.found.Manifest = m
}

// contents holds the documents and the manifest against the journal.
func (v *verifier) contents() error {
	m := v.found.Manifest
	open := func() (io.ReadCloser, error) { return v.dir.Open(JournalFile) }
	events, err := open()
	if err != nil {
		v.refuse(JournalFile, "it is missing; expected it in every archive")
		return nil
	}
	defer events.Close() //nolint:errcheck // it was only read
	head, err := readHead(events)
	if err != nil {
		return err
	}
	switch {
	case !head.Verified:
		v.refuse(JournalFile, "%s; expected a whole chain of hashes", head.Problem)
	case m.Redacted != nil && !m.Redacted.Original.Verified:
		v.refuse(JournalFile, "the one that it was redacted from: %s; expected a whole chain of hashes", m.Redacted.Original.Problem)
	case head != m.Journal:
		v.refuse(JournalFile, "it has %d lines and ends in %s; expected %d and %s, as the manifest says", head.Lines, head.Head, m.Journal.Lines, m.Journal.Head)
	}
	results, documents, err := rebuild(open, v.Documents)
	if err != nil {
		v.refuse(JournalFile, "%v; expected the journal of a run", err)
		return nil
	}
	v.rebuilt(documents)
	if want := Name(results); v.top != want {
		v.refuse("archive", "its folder is named %s; expected %s, by the journal", v.top, want)
	}
	if !m.tellsOf(results) {
		v.refuse(ManifestFile, "it tells of another run, of other GPUs or other findings than the journal%s; expected the same", v.otherTool())
	}
	return nil
}

// rebuilt compares each document that the journal decides with the packed one.
func (v *verifier) rebuilt(documents []rebuilt) {
	made := map[string]bool{JournalFile: true, ManifestFile: true, SMIFile: true, BugReportFile: true, BugReportZip: true}
	for _, d := range documents {
		made[d.name] = true
		i := slices.IndexFunc(v.listed, func(f File) bool { return f.Name == d.name })
		if i < 0 {
			v.refuse(d.name, "it is missing; expected it, as the journal gives it")
			continue
		}
		sum := sha256.New()
		if err := d.write(sum); err != nil {
			v.refuse(d.name, "it cannot be built from the journal: %v; expected a journal that it can be built from", err)
		} else if hex.EncodeToString(sum.Sum(nil)) != v.listed[i].SHA256 {
			v.refuse(d.name, "it is not what the journal gives%s; expected the same bytes", v.otherTool())
		}
	}
	for _, f := range v.listed {
		if !made[f.Name] {
			v.refuse(f.Name, "the journal gives no such document%s; expected none", v.otherTool())
		}
	}
}

// otherTool warns that another version may write documents in another way.
func (v *verifier) otherTool() string {
	if v.found.Manifest.Tool == v.Tool {
		return ""
	}
	return fmt.Sprintf(" to %s (%s packed it, verify with that one)", v.Tool, report.Line(report.Cut(v.found.Manifest.Tool, 100, "…")))
}

func sameJSON(a, b any) bool {
	x, err := json.Marshal(a)
	y, also := json.Marshal(b)
	return err == nil && also == nil && bytes.Equal(x, y)
}

// signature verifies the signature over SHA256SUMS, and who made it.
func (v *verifier) signature() {
	if _, err := fs.Stat(v.dir, SignatureFile); errors.Is(err, fs.ErrNotExist) {
		if v.Signers != nil {
			v.refuse(SignatureFile, "it is missing: nobody signed the archive; expected a signature of one of the signers")
		}
		return
	}
	armored, ok := v.small(SignatureFile, maxSmall)
	if !ok {
		return
	}
	key, err := openSignature(armored, v.sums)
	if err != nil {
		v.refuse(SignatureFile, "%v", err)
		return
	}
	v.found.Key = fingerprint(key)
	if v.Signers == nil {
		return
	}
	var why string
	if v.found.Signers, why = vouching(v.Signers, key, v.Identity, v.Now); len(v.found.Signers) == 0 {
		v.refuse(SignatureFile, "the key %s made it: %s; expected a key of the allowed signers", v.found.Key, why)
	}
}
