package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/peerproof/peerproof/internal/files"
	"github.com/peerproof/peerproof/internal/words"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/evidence"
	"github.com/peerproof/peerproof/runner"
)

func (a *app) verifyCommand() *cobra.Command {
	var signers, identity string
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check an archive that evidence pack made",
		Long: `Verify checks that the archive FILE holds what evidence pack puts into one and
nothing else, that every file has the hash that SHA256SUMS says, that the
journal's chain of hashes is whole, that all reports are what the journal gives,
and that the signature fits.

Without --signers it names the key that signed, and nobody vouches for that key.
With --signers FILE, an allowed signers file as ssh-keygen(1) has it, the key
must be in it, and belong to WHO where --identity says so.

Exit codes: 0 accepted, 1 refused, 3 internal error, 4 usage.`,
		Example: `  peerproof evidence verify peerproof-node17-20260203T040506Z-fail.tar.gz
  peerproof evidence verify --signers allowed_signers --identity lab@example.com FILE`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%s: %s; expected one, the archive", cmd.CommandPath(), words.Count(len(args), "argument", "arguments"))
			}
			return nil
		},
		ValidArgsFunction: first(orFile(func() []string { return nil }, "gz")),
		RunE: func(cmd *cobra.Command, args []string) error {
			c := evidence.Check{Documents: packedDocuments(), Tool: tool(), Identity: identity, Now: time.Now()}
			set := cmd.Flags().Changed
			if set("identity") && !set("signers") {
				return usagef("--identity without --signers: expected both, the signers say which key is whose")
			}
			if set("signers") {
				text, err := files.Read(signers, maxSigners)
				if err == nil {
					c.Signers, err = evidence.ParseSigners(text)
				}
				if err != nil {
					return usagef("--signers %s: %w; expected an allowed signers file", signers, files.Cause(err))
				}
			}
			return a.verify(cmd.Context(), args[0], c)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&signers, "signers", "", "who may have signed: an allowed signers `FILE`")
	expect(flags, "signers", "an allowed signers file, as ssh-keygen(1) has it")
	flags.StringVar(&identity, "identity", "", "`WHO` of the signers must have signed (default any)")
	expect(flags, "identity", "a principal of the signers file")
	return cmd
}

// maxSigners bounds an allowed signers file in bytes.
const maxSigners = 16 << 20

func (a *app) verify(parent context.Context, path string, c evidence.Check) error {
	beFrugal()
	file, err := files.Open(path)
	if err != nil {
		return usagef("evidence verify %s: %w; expected an archive that evidence pack made", path, files.Cause(err))
	}
	defer file.Close() //nolint:errcheck // it was only read
	dir, err := os.MkdirTemp("", "peerproof-verify-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system clears its folder too
	ctx, stop := interrupts(parent)
	defer stop()
	top, err := evidence.Unpack(untilDone{ctx, file}, evidence.DefaultLimits, func(name string) (io.WriteCloser, error) {
		return os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	})
	if ctx.Err() != nil {
		return errInterrupted
	}
	var refusal *evidence.RefusedError
	if errors.As(err, &refusal) {
		return a.refuse([]*evidence.RefusedError{refusal})
	}
	if err != nil {
		return err
	}
	accepted, refused, err := evidence.Verify(os.DirFS(dir), top, c)
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil:
		return err
	case len(refused) > 0:
		return a.refuse(refused)
	}
	return tellAccepted(a.stdout, accepted)
}

// untilDone reads until a context ends.
type untilDone struct {
	ctx context.Context
	io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(p)
}

// maxRefusals bounds how many reasons are written.
const maxRefusals = 50

// refuse says why an archive is not accepted, a reason a line.
func (a *app) refuse(reasons []*evidence.RefusedError) error {
	a.exit = runner.ExitFail
	var text strings.Builder
	for i, r := range reasons {
		if i == maxRefusals {
			fmt.Fprintf(&text, "and %d more\n", len(reasons)-i)
			break
		}
		text.WriteString(report.Cut(report.Line(r.Error()), maxError, "…") + "\n")
	}
	text.WriteString("REFUSED\n")
	_, err := io.WriteString(a.stdout, text.String())
	return err
}

// tellAccepted says what an archive is of, and what was not shown.
func tellAccepted(w io.Writer, ok *evidence.Accepted) error {
	m := ok.Manifest
	var text strings.Builder
	say := func(format string, args ...any) {
		text.WriteString(report.Cut(report.Line(fmt.Sprintf(format, args...)), maxError, "…") + "\n")
	}
	say("run %s on %s, %s to %s", m.Run.ID, m.Run.Host, m.Run.Started.UTC().Format(time.RFC3339), m.Run.Ended.UTC().Format(time.RFC3339))
	say("verdict %s: %d passed, %d failed, %s, %d skipped, %d waived", m.Run.Verdict, m.Run.Counts.Pass, m.Run.Counts.Fail, words.Count(m.Run.Counts.Error, "error", "errors"), m.Run.Counts.Skip, m.Run.Counts.Waived)
	for i, f := range m.Findings {
		if i == maxFindings {
			say("and %d more findings in %s", len(m.Findings)-i, evidence.ManifestFile)
			break
		}
		say("finding: %s", findingText(m, f))
	}
	if m.Run.Simulated {
		say("SIMULATED: no real GPU was tested")
	}
	if m.Run.Loopback {
		say("LOOPBACK: each GPU was its own peer, nothing is said of two")
	}
	say("packed by %s, binary SHA-256 %s", m.Tool, orUnknown(m.Binary))
	if m.Journal.Problem != "" {
		say("the journal: %s", m.Journal.Problem)
	}
	if m.Redacted != nil {
		say("redacted: names and addresses were replaced and the journal chained anew; the original had %d lines and ended in %s", m.Redacted.Original.Lines, m.Redacted.Original.Head)
	}
	switch {
	case ok.Key == "":
		say("NOT SIGNED: the files fit each other, and anyone can have made them")
	case len(ok.Signers) == 0:
		say("signed with %s; nobody vouched for that key: give --signers", ok.Key)
	default:
		say("signed with %s by %s", ok.Key, strings.Join(ok.Signers, " or "))
	}
	text.WriteString("ACCEPTED\n")
	_, err := io.WriteString(w, text.String())
	return err
}

// maxFindings bounds how many findings are written.
const maxFindings = 5

// findingText says what is wrong, and with which part.
func findingText(m *evidence.Manifest, f evidence.Finding) string {
	text := f.What + " (" + f.Why + ")"
	if f.First.Message != "" && !strings.Contains(f.What, f.First.Message) {
		text += "; " + f.First.Spec + ": " + f.First.Message
	}
	for _, slot := range f.GPUs {
		for _, g := range m.GPUs {
			if g.Slot == slot {
				known := []string{}
				for _, fact := range []struct{ name, value string }{
					{"", g.Model}, {"serial ", g.Serial}, {"part number ", g.PartNumber}, {"VBIOS ", g.VBIOS}, {"at ", g.BusID},
				} {
					if fact.value != "" {
						known = append(known, fact.name+fact.value)
					}
				}
				text += "; " + slot + ": " + cmp.Or(strings.Join(known, ", "), "nothing is known of it")
			}
		}
	}
	return text
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}
