package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"

	"github.com/peerproof/peerproof/internal/files"
	"github.com/peerproof/peerproof/internal/words"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/evidence"
	"github.com/peerproof/peerproof/runner"
	"github.com/peerproof/peerproof/runner/journal"
)

func (a *app) evidenceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "evidence",
		Short: "Pack a run for a vendor, or verify what was packed",
		Long: `Evidence makes one archive of a run, for a vendor or for a file that is kept, and
verifies such archives. A vendor without peerproof checks one with sha256sum and
ssh-keygen.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.packCommand(), a.verifyCommand())
	return cmd
}

// packFlags are the flags of evidence pack.
type packFlags struct {
	sign, out string
	force     bool
	bugReport bool
	redact    bool
	serials   bool
	simulated bool
	loopback  bool
}

func (a *app) packCommand() *cobra.Command {
	var f packFlags
	cmd := &cobra.Command{
		Use:   "pack DIR",
		Short: "Pack the run in a folder into one archive",
		Long: `Pack makes peerproof-HOST-TIME-VERDICT.tar.gz of the run in folder DIR, beside
that folder. It holds the journal, all reports and the inventory, built from the
journal again, the Xids that the run saw, what nvidia-smi -q says now where this
is the machine of the run, manifest.json, and SHA256SUMS for sha256sum -c.

--sign makes SHA256SUMS.sig with an SSH private key, or, where KEY is a public
key, with the private one in ssh-agent. Check it with
ssh-keygen -Y verify -f SIGNERS -I WHO -n ` + evidence.Namespace + ` -s SHA256SUMS.sig < SHA256SUMS

--redact replaces host names, IP and hardware addresses, mail addresses, paths
and account names, the same one by the same word in every file. Serials, UUIDs
and bus ids stay, since a vendor needs them.

A simulated or loopback run is no evidence of hardware: it is packed only where
it is allowed, and the archive's name then says so.`,
		Example: `  peerproof evidence pack peerproof-node17-20260203-040506
  peerproof evidence pack --sign ~/.ssh/id_ed25519 --redact OLD-RUN
  sudo peerproof evidence pack --bug-report OLD-RUN     with nvidia-bug-report.sh
  peerproof evidence pack --allow-simulated OLD-RUN     of a simulated node`,
		Args: oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.out == "" && cmd.Flags().Changed("out") {
				return usagef("--out %q: expected a folder that can be written to", f.out)
			}
			return a.pack(cmd.Context(), args[0], &f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.sign, "sign", "", "sign with the SSH key in file `KEY`")
	expect(flags, "sign", "an SSH private key, or a public one whose private key is in ssh-agent")
	flags.StringVar(&f.out, "out", "", "put the archive into the folder `DIR` (default beside the run's)")
	expect(flags, "out", "a folder that can be written to")
	flags.BoolVar(&f.force, "force", false, "replace an archive of the same name")
	flags.BoolVar(&f.bugReport, "bug-report", false, "run nvidia-bug-report.sh, as root, and pack its output")
	flags.BoolVar(&f.redact, "redact", false, "replace names of hosts and people, addresses and paths")
	flags.BoolVar(&f.serials, "redact-serials", false, "replace serial numbers and UUIDs too; means --redact")
	flags.BoolVar(&f.simulated, "allow-simulated", false, "pack a simulated run, marked SIMULATED")
	flags.BoolVar(&f.loopback, "allow-loopback", false, "pack a loopback run, marked LOOPBACK")
	for _, name := range []string{"force", "bug-report", "redact", "redact-serials", "allow-simulated", "allow-loopback"} {
		expect(flags, name, "true or false")
	}
	return cmd
}

// oneFolder takes the folder of a run.
func oneFolder(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s: %s; expected one, the folder that a run left", cmd.CommandPath(), words.Count(len(args), "argument", "arguments"))
	}
	return nil
}

func (a *app) pack(parent context.Context, dir string, f *packFlags) error {
	beFrugal()
	r, err := results(dir)
	if err == nil {
		err = journal.Idle(filepath.Join(dir, journalName))
	}
	if err != nil {
		return usagef("evidence pack %s: %w", dir, err)
	}
	if err := f.allows(r); err != nil {
		return usagef("evidence pack %s: %w", dir, err)
	}
	var key ssh.Signer
	if f.sign != "" {
		var done func()
		if key, done, err = signingKey(f.sign); err != nil {
			return usagef("--sign %s: %w", f.sign, err)
		}
		defer done()
	}
	ctx, stop := interrupts(parent)
	defer stop()
	path, packed, err := pack(ctx, dir, r, f, key)
	var refused *evidence.RefusedError
	switch {
	case ctx.Err() != nil:
		a.exit = runner.ExitInterrupted
		_, err := io.WriteString(a.stdout, "interrupted: nothing was packed\n")
		return err
	case errors.As(err, &refused):
		return usagef("evidence pack %s: %w", dir, err)
	case err != nil:
		return err
	}
	return tellPacked(a.stdout, path, packed, key)
}

// allows refuses a run that is no evidence of hardware.
func (f *packFlags) allows(r *report.Results) error {
	switch {
	case evidence.Simulated(r) && !f.simulated:
		return errors.New("the run is SIMULATED, it says nothing of real GPUs; expected a run on hardware, or --allow-simulated, and the archive is marked")
	case r.Run.Loopback && !f.loopback:
		return errors.New("the run is LOOPBACK, it says nothing of two GPUs; expected a run between GPUs, or --allow-loopback, and the archive is marked")
	}
	return nil
}

// pack packs a run's folder and returns the archive's path. The key may be nil.
func pack(ctx context.Context, dir string, r *report.Results, f *packFlags, key ssh.Signer) (path string, packed *evidence.Packed, err error) {
	out := f.out
	if out == "" {
		out = filepath.Dir(filepath.Clean(dir))
	}
	staging, err := os.MkdirTemp(out, ".peerproof-evidence-*")
	if err != nil {
		return "", nil, usagef("--out %s: %w; expected a folder that can be written to", out, files.Cause(err))
	}
	defer os.RemoveAll(staging) //nolint:errcheck // what matters was said before
	found, asked := filepath.Join(staging, "found"), filepath.Join(staging, "asked")
	for _, d := range []string{found, asked} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return "", nil, err
		}
	}
	in := evidence.Input{
		Journal: filepath.Join(dir, journalName), Documents: packedDocuments(), Tool: tool(), Created: packTime(),
	}
	if in.Binary, err = ownHash(); err != nil {
		in.Missing = append(in.Missing, evidence.Missing{What: "binary_sha256", Why: files.Cause(err).Error()})
	}
	if err := ask(ctx, asked, r, f.bugReport, &in); err != nil {
		return "", nil, err
	}
	if f.redact || f.serials {
		in.Redaction = redaction(f.serials, len(in.Collected) > 0)
	}
	if key != nil {
		in.Sign = func(sums []byte) ([]byte, error) { return evidence.Sign(sums, key) }
	}
	var file *renameio.PendingFile
	packed, err = evidence.Pack(found, in, func(name string) (io.WriteCloser, error) {
		path = filepath.Join(out, name+evidence.Suffix)
		if _, err := os.Lstat(path); err == nil && !f.force {
			return nil, usagef("%s: exists already; expected a name that is free, --out with another folder, or --force to replace it", path)
		}
		file, err = renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
		return keepOpen{file}, err
	})
	if file == nil {
		return "", nil, err
	}
	defer file.Cleanup() //nolint:errcheck // after CloseAtomicallyReplace there is nothing to do
	if err == nil && ctx.Err() == nil {
		err = file.CloseAtomicallyReplace()
	}
	return path, packed, errors.Join(err, ctx.Err())
}

// packedDocuments are those that every run leaves, by their names in its folder.
func packedDocuments() []evidence.Document {
	var all []evidence.Document
	own, _ := new(documents).of("")
	for _, d := range own {
		all = append(all, evidence.Document{Name: d.path, Write: d.write})
	}
	return all
}

// keepOpen leaves the closing to whoever decides whether the file appears.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// redaction knows, beside what the journal tells, the account of whoever packs,
// and this machine's name where the archive holds what it says.
func redaction(serials, here bool) *evidence.Redaction {
	r := &evidence.Redaction{Serials: serials, Users: []string{os.Getenv("SUDO_USER")}}
	if host, err := os.Hostname(); err == nil && here {
		r.Hosts = append(r.Hosts, host)
	}
	if u, err := user.Current(); err == nil {
		r.Users = append(r.Users, u.Username)
	}
	return r
}

// packTime is now, or what SOURCE_DATE_EPOCH says, so that an archive can be
// made again byte by byte.
func packTime() time.Time {
	if s, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 40); err == nil {
		return time.Unix(s, 0)
	}
	return time.Now()
}

// ownHash is the hex SHA-256 of this program's file, also where that was
// replaced since.
func ownHash() (string, error) {
	file, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it was only read
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// tellPacked says what was packed, and what was not.
func tellPacked(w io.Writer, path string, p *evidence.Packed, key ssh.Signer) error {
	m := p.Manifest
	text := fmt.Sprintf("%s\n  %d files of run %s, verdict %s of %s\n", path, p.Files, m.Run.ID, m.Run.Verdict, words.Count(m.Run.Counts.Total(), "spec", "specs"))
	if m.Run.Simulated {
		text += "  SIMULATED: no real GPU was tested\n"
	}
	if m.Run.Loopback {
		text += "  LOOPBACK: each GPU was its own peer\n"
	}
	if !m.Journal.Verified {
		text += "  WARNING: the journal's hash chain is broken, verify will refuse it: " + m.Journal.Problem + "\n"
	}
	if m.Redacted != nil {
		text += "  redacted: the journal's hash chain is a new one, the original ended in " + m.Redacted.Original.Head + "\n"
	}
	if key == nil {
		text += "  unsigned: --sign makes it evidence of who packed it\n"
	} else {
		text += "  signed with " + key.PublicKey().Type() + " " + ssh.FingerprintSHA256(key.PublicKey()) + "\n"
	}
	for _, missing := range m.Missing {
		text += "  not in it: " + missing.What + ": " + report.Line(missing.Why) + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
