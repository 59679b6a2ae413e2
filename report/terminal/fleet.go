package terminal

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/internal/words"
	"github.com/peerproof/peerproof/report"
	"github.com/peerproof/peerproof/report/fleet"
)

// maxLines is how many lines of one sort are shown; the reports have all.
const maxLines = 12

// Fleet writes what stands out in a fleet: who failed, who is slower than its
// equals, which versions differ, and which folders are not in the report.
func Fleet(w io.Writer, r *fleet.Report, files []string, o Options) error {
	f := fleetSummary{o: o}
	servers, marked := 0, ""
	for i := range r.Groups {
		g := &r.Groups[i]
		servers += len(g.Servers)
		if marked = "fleet"; g.Marks != "" {
			marked = g.Marks + " fleet"
		}
		f.out.WriteString(o.banner(marked + ", " + words.Count(len(g.Servers), "server", "servers")))
		f.group(g)
	}
	if len(r.Groups) > 1 {
		f.line(yellow, "MIXED", "runs on real GPUs and marked ones were given together; each sort stands under its own title, and none is compared with another")
	}
	f.skipped(r.Skipped, true, "UNREAD", "folders that could not be read")
	f.skipped(r.Skipped, false, "SKIPPED", "folders that were skipped")
	if len(files) > 0 {
		f.out.WriteString(wrap("reports: ", 9, o.width(), strings.Join(files, "  ")))
	}
	f.out.WriteString(wrap("", 2, o.width(), total(r, servers)))
	f.out.WriteString(o.banner(Conclusion(r)))
	_, err := io.WriteString(w, f.out.String())
	return err
}

type fleetSummary struct {
	out strings.Builder
	o   Options
}

// line writes a word in capital letters, and text beside it.
func (f *fleetSummary) line(style, word, text string) {
	const indent = 9
	pad := strings.Repeat(" ", max(1, indent-len(word)))
	f.out.WriteString(f.o.paint(style, word) + pad + wrap(strings.Repeat(" ", indent), indent, f.o.width(), text)[indent:])
}

func (f *fleetSummary) group(g *fleet.Group) {
	bad := 0
	for i := range g.Servers {
		s := &g.Servers[i]
		text, style := "", style(s.Verdict)
		switch s.Standing {
		case fleet.Broken:
			text, style = "the hash chain of its journal is broken, and the run proves nothing; ", red
		case fleet.Live:
			text, style = "its run still goes on; ", yellow
		case fleet.Standing(verdict.Fail), fleet.Standing(verdict.Error):
			text = report.Line(s.WorstID) + " " + report.Line(s.WorstCode) + "; "
		default:
			continue
		}
		if bad++; bad <= maxLines {
			f.line(style, strings.ToUpper(report.Line(string(s.Standing))), name(s.Host, s.Serial)+": "+text+countsText(s.Counts))
		}
	}
	f.rest(bad, "servers that are not good")
	f.outliers(g.Outliers)
	warned := 0
	for i := range g.Servers {
		for _, warning := range g.Servers[i].Warnings {
			if warned++; warned <= maxLines {
				f.line(yellow, "WARNING", report.Line(g.Servers[i].Dir)+": "+warning)
			}
		}
	}
	f.rest(warned, "warnings")
	for i := range g.Drift {
		d := &g.Drift[i]
		f.line(yellow, "DRIFT", report.Line(d.What)+": "+versions(d))
	}
	for i, m := range g.Moved {
		if i == maxLines {
			break
		}
		var at []string
		for _, p := range m.Places {
			at = append(at, report.Line(p.Host+" "+p.Subject))
		}
		f.line(yellow, "TWICE", "the GPU "+name(m.UUID, m.Serial)+" is in "+strings.Join(at, " and "))
	}
	f.rest(len(g.Moved), "GPUs that are in two servers")
	for _, a := range g.Ambiguous {
		f.line(yellow, "SERIAL", fmt.Sprintf("%d servers without a common GPU have the serial number %s: %s",
			len(a.Dirs), report.Line(a.Serial), some(a.Dirs)))
	}
	for i, e := range g.Superseded {
		if i == maxLines {
			break
		}
		if e.Same {
			f.line("", "SAME", report.Line(e.Dir)+" of "+name(e.Host, e.Serial)+" is the same run as "+report.Line(e.By)+", given twice; it counts once")
			continue
		}
		f.line("", "EARLIER", report.Line(e.Dir)+" of "+name(e.Host, e.Serial)+" does not count, "+report.Line(e.By)+" is later")
	}
	f.rest(len(g.Superseded), "runs that do not count")
	for _, k := range g.Kinds {
		if !k.Compared && len(g.Servers) > 1 {
			f.line("", "FEW", fmt.Sprintf("%s: %s, too few to be compared (%d)", report.Line(k.Name), words.Count(k.Servers, "server", "servers"), fleet.MinPeers))
		}
	}
}

// rest says how many lines of one sort were left out.
func (f *fleetSummary) rest(all int, what string) {
	if all > maxLines {
		f.line("", "", fmt.Sprintf("and %d more of the %s, see the reports", all-maxLines, what))
	}
}

// outliers writes one line for each place, with its clearest figure.
func (f *fleetSummary) outliers(all []fleet.Outlier) {
	type place struct{ dir, subject string }
	first := map[place]*fleet.Outlier{}
	checks := map[place]int{}
	var places []place
	for i := range all {
		p := place{all[i].Dir, all[i].Subject}
		if first[p] == nil {
			first[p] = &all[i]
			places = append(places, p)
		}
		checks[p]++
	}
	for i, p := range places {
		if i == maxLines {
			break
		}
		at := first[p]
		text := where(at) + fmt.Sprintf(": %.1f %% worse than %d peers in %s: %s %s, expected %s",
			at.Effect, at.Peers, report.Line(at.Check), report.Number(at.Value), report.Line(at.Unit), report.Number(at.Expected))
		if n := checks[p] - 1; n > 0 {
			text += "; and in " + words.Count(n, "more figure", "more figures")
		}
		f.line(yellow, "OUTLIER", text)
	}
	f.rest(len(places), "outliers")
}

// where names an outlier's part.
func where(at *fleet.Outlier) string {
	text := name(at.Host, at.ServerSerial)
	if at.Subject != "" {
		text += " " + report.Line(at.Subject)
	}
	if len(at.GPUs) == 1 && at.GPUs[0].Serial != "" {
		text += " (serial " + report.Line(at.GPUs[0].Serial) + ")"
	}
	return text
}

// name is a name with the serial number beside it, where there is one.
func name(text, serial string) string {
	text = report.Line(text)
	if serial = report.Line(serial); serial != "" {
		text = strings.TrimSpace(text + " (serial " + serial + ")")
	}
	return text
}

// versions are the values of a drift and who has them.
func versions(d *fleet.Drift) string {
	var parts []string
	for _, v := range d.Values {
		text := report.Line(v.Value) + " on " + words.Count(v.Servers, "server", "servers")
		if len(v.Hosts) > 0 {
			text += ": " + some(v.Hosts)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// some are the first of many names.
func some(names []string) string {
	shown := slices.Clone(names[:min(len(names), maxNamed)])
	if len(names) > maxNamed {
		shown = append(shown, fmt.Sprintf("and %d more", len(names)-maxNamed))
	}
	return report.Line(strings.Join(shown, ", "))
}

// skipped names the folders that are not in the report.
func (f *fleetSummary) skipped(all []fleet.Skipped, unread bool, word, what string) {
	n := 0
	for _, s := range all {
		if s.Unread != unread {
			continue
		}
		if n++; n <= maxLines {
			f.line(yellow, word, report.Line(s.Dir)+": "+report.Line(s.Reason))
		}
	}
	f.rest(n, what)
}

// missing is how many folders are not in the report, in words with a sign
// before each.
func missing(r *fleet.Report, sign string) (text string) {
	unread := r.Unread()
	if unread > 0 {
		text += sign + words.Count(unread, "folder", "folders") + " not read"
	}
	if n := len(r.Skipped) - unread; n > 0 {
		text += sign + words.Count(n, "folder", "folders") + " skipped"
	}
	return text
}

// total is the counts over all groups in words.
func total(r *fleet.Report, servers int) string {
	var c fleet.Counts
	outliers := 0
	for i := range r.Groups {
		v := r.Groups[i].Verdicts
		c.Pass, c.Fail, c.Error, c.Skip = c.Pass+v.Pass, c.Fail+v.Fail, c.Error+v.Error, c.Skip+v.Skip
		c.Broken, c.Live = c.Broken+v.Broken, c.Live+v.Live
		outliers += r.Groups[i].Places()
	}
	text := words.Count(servers, "server", "servers") + ": "
	ended := countsText(report.Counts{Pass: c.Pass, Fail: c.Fail, Error: c.Error, Skip: c.Skip})
	if c.Broken > 0 {
		text += words.Count(c.Broken, "proves nothing", "prove nothing") + ", "
	}
	if c.Live > 0 {
		text += strconv.Itoa(c.Live) + " still going on, "
	}
	if c.Broken+c.Live == 0 || c.Pass+c.Fail+c.Error+c.Skip > 0 {
		text += ended
	}
	text = strings.TrimSuffix(text, ", ") + "; " + words.Count(outliers, "outlier", "outliers")
	return text + missing(r, "; ") + fmt.Sprintf("; exit %d", r.Exit)
}

// Conclusion is the last line: what the exit code says, whether any of it was
// real, and how many folders are not in the report.
func Conclusion(r *fleet.Report) string {
	text := map[int]string{0: "ALL GOOD", 1: "NOT ALL GOOD"}[r.Exit]
	if text == "" {
		text = "NOTHING WAS TESTED"
	}
	var marks []string
	for i := range r.Groups {
		if m := r.Groups[i].Marks; m != "" {
			marks = append(marks, m)
		}
	}
	switch {
	case len(marks) == 0:
	case len(marks) < len(r.Groups):
		text += ", MIXED with " + strings.Join(marks, ", ")
	default:
		text += ", " + strings.Join(marks, ", ") + " alone"
	}
	return text + missing(r, ", ")
}
