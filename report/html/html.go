// Package html writes report.html: one file for whoever stands before the
// server, or gets it by mail. It needs no network and no script, prints, and
// says everything in words and shapes as well as in colour.
package html

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

//go:embed templates
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"name": name, "text": text, "number": report.Number, "upper": strings.ToUpper, "short": short,
	"symbol": symbol, "figure": figureText, "samples": samplesText, "excuse": report.Excuse,
}).ParseFS(files, "templates/*"))

// Write writes the document of a run.
func Write(w io.Writer, r *report.Results) error {
	if err := templates.ExecuteTemplate(w, "page.html", newPage(r)); err != nil {
		return fmt.Errorf("write report.html: %w", err)
	}
	return nil
}

// The most bytes that the document shows of one text from the node, the driver
// or a suite. The journal has it whole.
const (
	maxName = 160
	maxText = 6000
)

// name is text from outside on one short line.
func name(text any) string {
	return bounded(fmt.Sprint(text), maxName, report.Line)
}

// text is text from outside, with its lines.
func text(text string) string {
	return strings.TrimSpace(bounded(text, maxText, report.Plain))
}

// bounded cleans the beginning of a text that may be huge.
func bounded(text string, limit int, clean func(string) string) string {
	return report.Cut(clean(text[:min(len(text), 2*limit)]), limit, "… (cut, see journal.jsonl)")
}

// figureText is a measurement on one line.
func figureText(m *verdict.Measurement) string {
	short := *m
	short.Unit = name(m.Unit)
	return report.FigureText(&short)
}

// samplesText are samples in the order in which they were taken.
func samplesText(all []float64) string {
	const most = 16
	var words []string
	for i, v := range all {
		if i == most {
			words = append(words, fmt.Sprintf("… (%d in all)", len(all)))
			break
		}
		words = append(words, report.Number(v))
	}
	return strings.Join(words, ", ")
}

// short is a number for a narrow cell: three digits at most where it is below
// a thousand.
func short(v float64) string {
	switch {
	case v >= 99.95 || v <= -99.95 || v == 0:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995 || v <= -9.995:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}
