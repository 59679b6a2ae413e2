package evidence

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/peerproof/peerproof/internal/files"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/runner/journal"
)

// Input is what an archive is made of.
type Input struct {
	Journal   string     // the file
	Documents []Document // that are made from it
	// Collected are files with what was read from the machine, by the name that
	// they get. One that ends in .gz is packed as it is, and redacted inside.
	Collected map[string]string
	Missing   []Missing // what was not collected
	Tool      string    // "peerproof 0.1.0"
	Binary    string    // hex SHA-256 of its file
	Created   time.Time
	Redaction *Redaction // nil: nothing is replaced
	// Sign, where set, makes the signature over SHA256SUMS.
	Sign func(sums []byte) (signature []byte, err error)
}

// Packed is an archive that was written.
type Packed struct {
	Name     string // without Suffix
	Files    int
	Manifest *Manifest
}

// Pack makes an archive in the empty folder staging, where it builds all
// documents from a copy of the journal, and writes it to the file that create
// opens for its name. A *RefusedError says that the journal cannot be redacted.
func Pack(staging string, in Input, create func(name string) (io.WriteCloser, error)) (*Packed, error) {
	p := packer{Input: in, dir: staging}
	original, err := p.journal()
	if err != nil {
		return nil, err
	}
	results, err := p.documents()
	if err != nil {
		return nil, err
	}
	for _, name := range sorted(in.Collected) {
		if err := p.collected(name, in.Collected[name]); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	m := p.manifest(results, original)
	if m.Files, err = listFiles(staging, p.names); err != nil {
		return nil, err
	}
	if err := p.seal(m); err != nil {
		return nil, err
	}
	if err := p.leaks(); err != nil {
		return nil, err
	}
	packed := &Packed{Name: Name(results), Files: len(p.names), Manifest: m}
	out, err := create(packed.Name)
	if err != nil {
		return nil, err
	}
	err = writeArchive(out, packed.Name, os.DirFS(staging), p.names, results.Run.Ended)
	return packed, errors.Join(err, out.Close())
}

func sorted(m map[string]string) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// packer is an archive being made.
type packer struct {
	Input
	dir      string
	names    []string // of the files in dir
	redactor *redactor
	head     Journal // of the packed journal
}

// write makes one file of the archive.
func (p *packer) write(name string, write func(io.Writer) error) error {
	if !nameForm.MatchString(name) || slices.Contains(p.names, name) {
		return fmt.Errorf("pack %q: expected a plain name, once", name)
	}
	p.names = append(p.names, name)
	if err := report.WriteFile(filepath.Join(p.dir, name), write); err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	return nil
}

// journal packs the journal, and returns what is known of the original.
func (p *packer) journal() (original Journal, err error) {
	// What a run still writes, or a second reader changes, is then no matter.
	raw, err := files.Open(p.Journal)
	if err != nil {
		return original, err
	}
	defer raw.Close() //nolint:errcheck // it was only read
	if p.Redaction == nil {
		if err := p.write(JournalFile, func(w io.Writer) error { return copyAll(w, raw) }); err != nil {
			return original, err
		}
		p.head, err = headOf(filepath.Join(p.dir, JournalFile))
		return p.head, err
	}
	whole := filepath.Join(p.dir, "original") // no name that is packed
	if err := report.WriteFile(whole, func(w io.Writer) error { return copyAll(w, raw) }); err != nil {
		return original, err
	}
	defer os.Remove(whole) //nolint:errcheck // the caller removes the folder
	if original, err = headOf(whole); err != nil {
		return original, err
	}
	if err := p.redact(whole); err != nil {
		return original, err
	}
	p.head, err = headOf(filepath.Join(p.dir, JournalFile))
	return original, err
}

func (p *packer) redact(whole string) error {
	events, err := os.Open(whole)
	if err != nil {
		return err
	}
	defer events.Close() //nolint:errcheck // it was only read
	secrets, err := p.Redaction.secretsOf(events)
	if err != nil {
		return err
	}
	p.redactor = newRedactor(secrets)
	if _, err := events.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return p.write(JournalFile, func(w io.Writer) error { return redactJournal(w, events, p.redactor) })
}

func copyAll(w io.Writer, r io.Reader) error {
	_, err := io.Copy(w, r)
	return err
}

// headOf verifies the chain of a journal's file.
func headOf(path string) (Journal, error) {
	file, err := os.Open(path)
	if err != nil {
		return Journal{}, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	return readHead(file)
}

func readHead(r io.Reader) (Journal, error) {
	head, err := journal.Verify(r)
	j := Journal{Lines: head.Lines, Head: head.Hash, Verified: true}
	var torn *journal.TornError
	var broken *journal.BrokenError
	switch {
	case errors.As(err, &torn):
		j.Problem = fmt.Sprintf("line %d is torn: the run was cut off while writing it", torn.Line)
	case errors.As(err, &broken):
		j.Verified, j.Problem = false, fmt.Sprintf("line %d %s", broken.Line, report.Line(report.Cut(broken.What, 200, "…")))
	case err != nil:
		return j, err
	}
	return j, nil
}

// documents builds all that is made from the packed journal.
func (p *packer) documents() (*report.Results, error) {
	open := func() (io.ReadCloser, error) { return os.Open(filepath.Join(p.dir, JournalFile)) }
	results, rebuilt, err := rebuild(open, p.Documents)
	if err != nil {
		return nil, err
	}
	for _, d := range rebuilt {
		if err := p.write(d.name, d.write); err != nil {
			return nil, err
		}
	}
	if results.Node == nil {
		p.Missing = append(p.Missing, Missing{NodeFile, "the journal holds no inventory: discovery did not come to its end"})
	}
	return results, nil
}

// rebuilt is a document that a journal decides.
type rebuilt struct {
	name  string
	write func(io.Writer) error
}

// rebuild lists the documents that a journal decides.
func rebuild(open func() (io.ReadCloser, error), documents []Document) (*report.Results, []rebuilt, error) {
	read := func(fn func(io.Reader) error) error {
		events, err := open()
		if err != nil {
			return err
		}
		defer events.Close() //nolint:errcheck // it was only read
		return fn(events)
	}
	var results *report.Results
	err := read(func(r io.Reader) (err error) {
		results, err = report.Build(r)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	var all []rebuilt
	for _, d := range documents {
		all = append(all, rebuilt{d.Name, func(w io.Writer) error { return d.Write(w, results) }})
	}
	if results.Node != nil {
		all = append(all, rebuilt{NodeFile, func(w io.Writer) error {
			text, err := results.Node.Encode()
			if err != nil {
				return err
			}
			_, err = w.Write(text)
			return err
		}})
	}
	all = append(all, rebuilt{KernelFile, func(w io.Writer) error {
		return read(func(r io.Reader) error { return WriteKernel(w, r) })
	}})
	return results, all, nil
}

// manifest says all but which files there are.
func (p *packer) manifest(results *report.Results, original Journal) *Manifest {
	m := &Manifest{
		Version: Version, Tool: p.Tool, Binary: p.Binary, Created: p.Created.UTC().Truncate(time.Second),
		Journal: p.head, Missing: p.Missing,
	}
	m.tell(results)
	if p.redactor != nil {
		m.Redacted = &Redacted{Serials: p.Redaction.Serials, Original: original}
		for i := range m.Missing {
			m.Missing[i].Why = p.redactor.text(m.Missing[i].Why)
		}
	}
	return m
}

// seal writes the manifest, SHA256SUMS over all, and its signature.
func (p *packer) seal(m *Manifest) error {
	text, err := m.encode()
	if err != nil {
		return err
	}
	if err := p.write(ManifestFile, bytesOf(text)); err != nil {
		return err
	}
	files, err := listFiles(p.dir, p.names)
	if err != nil {
		return err
	}
	sums := formatSums(files)
	if err := p.write(SumsFile, bytesOf(sums)); err != nil || p.Sign == nil {
		return err
	}
	signature, err := p.Sign(sums)
	if err != nil {
		return err
	}
	return p.write(SignatureFile, bytesOf(signature))
}

func bytesOf(text []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	}
}

// leaks is an error where a name that was to be replaced is still somewhere.
func (p *packer) leaks() error {
	if p.redactor == nil {
		return nil
	}
	for _, name := range p.names {
		if name == SignatureFile || name == SumsFile {
			continue // hashes and a key
		}
		found, err := p.redactor.left(filepath.Join(p.dir, name))
		if err != nil {
			return fmt.Errorf("look through %s: %w", name, err)
		}
		if found != "" {
			return refuse(name, "%q would still be in it, since it is a part of the reports' own words or hashes; expected names that can be told from them, so nothing was packed", found)
		}
	}
	return nil
}
