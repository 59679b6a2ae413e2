package evidence

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/runner/journal"
)

// WriteKernel writes what the driver said of its GPUs while a run went on: a
// line for each Xid in the journal, with its source and the specs that ran.
// Errors are those of reader and writer.
func WriteKernel(out io.Writer, events io.Reader) error {
	w := bufio.NewWriter(out)
	none := true
	_, _ = w.WriteString("# Xids that the journal of the run holds: the driver's error reports, as the\n# kernel log and NVML's events told them. Both may tell of the same one.\n")
	err := journal.Recover(events, func(e journal.Event) error {
		if e.Type == journal.TypeXid && e.Xid != nil {
			none = false
			_, _ = fmt.Fprintf(w, "%s %s\n", e.Time.UTC().Format(time.RFC3339Nano), xidLine(e.Xid))
		}
		return nil
	}, func(*journal.BrokenError) {})
	if none {
		_, _ = w.WriteString("# It holds none.\n")
	}
	return errors.Join(unlessDamaged(err), w.Flush()) // Flush returns the first error of all writes
}

func xidLine(x *topology.Xid) string {
	line := fmt.Sprintf("%s: NVRM: Xid (PCI:%s): %d", x.Source, x.BusID, x.Code)
	if x.Text != "" {
		line += ", " + x.Text
	}
	if len(x.Specs) > 0 {
		line += " [during " + strings.Join(x.Specs, ", ") + "]"
	}
	if x.Provoked {
		line += " [provoked on purpose]"
	}
	return report.Line(line)
}

// unlessDamaged is an error of reading a journal, but for what is wrong with
// the journal itself, which is told elsewhere.
func unlessDamaged(err error) error {
	var torn *journal.TornError
	var broken *journal.BrokenError
	if errors.As(err, &torn) || errors.As(err, &broken) {
		return nil
	}
	return err
}
