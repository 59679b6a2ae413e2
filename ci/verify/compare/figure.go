package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/peerproof/peerproof/report"
)

// theirs is a figure of another tool, by the id of the spec that measures the
// same thing, in that spec's unit and counted as that spec counts.
type theirs struct {
	tool  string // "nvbandwidth", and the test's name there
	spec  string // "bandwidth/write-ce[gpu0->gpu1]"
	name  string // of the spec's measurement
	value float64
	unit  string
	// note says where the two definitions differ; "" where they do not.
	note string
}

// word is what became of one figure.
type word string

const (
	pass    word = "PASS"
	differs word = "DIFFERS"
	missing word = "NOT MEASURED" // peerproof has no such figure in this run
)

// row is one line of the table.
type row struct {
	theirs
	ours float64
	off  float64 // ours from theirs, as a fraction of theirs
	word word
}

// compare finds our figure to each of theirs. Within tolerance, a fraction of
// theirs, is a pass.
func compare(r *report.Results, all []theirs, tolerance float64) []row {
	ours := map[string]float64{}
	for i := range r.Specs {
		for _, m := range r.Specs[i].Measurements {
			ours[r.Specs[i].ID+"\x00"+m.Name+"\x00"+m.Unit] = m.Value
		}
	}
	rows := make([]row, 0, len(all))
	for _, t := range all {
		x := row{theirs: t, word: missing}
		if value, ok := ours[t.spec+"\x00"+t.name+"\x00"+t.unit]; ok {
			x.ours = value
			x.off, x.word = judge(value, t.value, tolerance)
		}
		rows = append(rows, x)
	}
	return rows
}

// judge says how far ours is from theirs. A figure that is none differs.
func judge(ours, theirs, tolerance float64) (float64, word) {
	off := ours/theirs - 1
	if !(ours > 0 && theirs > 0) || math.IsInf(ours, 0) || math.IsInf(theirs, 0) {
		return 0, differs
	}
	if math.Abs(ours-theirs) > tolerance*theirs {
		return off, differs
	}
	return off, pass
}

// count is how many rows have a word.
func count(rows []row, w word) (n int) {
	for _, r := range rows {
		if r.word == w {
			n++
		}
	}
	return n
}

// table is the rows as a page of Markdown.
func table(rows []row, tolerance float64, marks string, left []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Figures beside those of other tools%s\n\n", marks)
	fmt.Fprintf(&b, "%d within %.3g %%, %d differ, %d not measured by peerproof in this run.\n", count(rows, pass), 100*tolerance,
		count(rows, differs), count(rows, missing))
	b.WriteString("Their figure is counted as ours is; the note says what was done for that, and\nwhere the two still do not measure quite the same.\n")
	if len(rows) > 0 {
		b.WriteString("\n| spec | figure | ours | theirs | unit | difference | | tool | note |\n|---|---|---:|---:|---|---:|---|---|---|\n")
	}
	for _, r := range rows {
		ours, off := "", ""
		if r.word != missing {
			ours, off = fmt.Sprintf("%.2f", r.ours), fmt.Sprintf("%+.1f %%", 100*r.off)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %.2f | %s | %s | %s | %s | %s |\n", cell(r.spec), cell(r.name), ours, r.value, cell(r.unit), off, r.word, cell(r.tool), cell(r.note))
	}
	if len(left) > 0 {
		b.WriteString("\nNot compared:\n\n")
		for _, l := range left {
			fmt.Fprintf(&b, "- %s\n", cell(l))
		}
	}
	return b.String()
}

// plain is text that can neither leave its line nor steer a terminal.
func plain(s string) string {
	if runes := []rune(s); len(runes) > 400 {
		s = string(runes[:400]) + "…"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r < ' ', r >= 0x7f && r < 0xa0, r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0xfeff, r == '\ufffd':
			return '·'
		}
		return r
	}, s)
}

// cell is text of a table of Markdown, with nothing in it that Markdown or HTML
// would read as markup.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "`", "'", "*", `\*`, "[", `\[`, "]", `\]`, "!", `\!`, `\`, `\\`).Replace(plain(s))
}
