package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// documented are a command and all below it that people may use.
func documented(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, c := range below(cmd) {
		all = append(all, documented(c)...)
	}
	return all
}

func below(cmd *cobra.Command) []*cobra.Command {
	return slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool {
		return !c.IsAvailableCommand() || c.Name() == "help" || c.Name() == "completion"
	})
}

// pageName is the name of a command's page, as in peerproof-run.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// page is the manual page of one command, in man(7)'s macros.
func page(c *cobra.Command, version string, date time.Time) string {
	var b strings.Builder
	title := strings.ToUpper(pageName(c))
	fmt.Fprintf(&b, ".TH %q 1 %q %q \"User Commands\"\n", title, date.Format(time.DateOnly), "peerproof "+version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(pageName(c)), roff(strings.ToLower(c.Short[:1])+c.Short[1:]))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.CommandPath()))
	if _, arguments, ok := strings.Cut(c.Use, " "); ok {
		fmt.Fprintf(&b, ".I %s\n", roff(arguments))
	}
	switch {
	case len(below(c)) > 0:
		b.WriteString(".I command\n")
	case c.HasAvailableFlags():
		b.WriteString("[\\fIoptions\\fR]\n")
	}
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n" + paragraphs(text))
	if commands := below(c); len(commands) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range commands {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(sub.Use), roff(sub.Short+"."))
		}
	}
	if c.HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				b.WriteString(option(f))
			}
		})
	}
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n")
		for line := range strings.Lines(c.Example) {
			b.WriteString(roff(strings.TrimSuffix(strings.TrimPrefix(line, "  "), "\n")) + "\n")
		}
		b.WriteString(".fi\n")
	}
	b.WriteString(seeAlso(c))
	return b.String()
}

// option is a flag with its letter, the name of its value and its text.
func option(f *pflag.Flag) string {
	value, text := pflag.UnquoteUsage(f)
	name := "\\fB" + roff("--"+f.Name) + "\\fR"
	if f.Shorthand != "" {
		name = "\\fB" + roff("-"+f.Shorthand) + "\\fR, " + name
	}
	if value != "" && f.Value.Type() != "bool" {
		name += " \\fI" + roff(value) + "\\fR"
	}
	return ".TP\n" + name + "\n" + roff(text) + "\n"
}

func seeAlso(c *cobra.Command) string {
	var names []string
	if c.HasParent() {
		names = append(names, pageName(c.Parent()))
	}
	for _, sub := range below(c) {
		names = append(names, pageName(sub))
	}
	if len(names) == 0 {
		return ""
	}
	text := ".SH SEE ALSO\n"
	for i, name := range names {
		comma := ","
		if i == len(names)-1 {
			comma = ""
		}
		text += fmt.Sprintf(".BR %s (1)%s\n", roff(name), comma)
	}
	return text
}

// paragraphs is plain text whose paragraphs are set apart by empty lines.
func paragraphs(text string) string {
	var b strings.Builder
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		for line := range strings.Lines(paragraph) {
			b.WriteString(roff(strings.TrimRight(line, " \n")) + "\n")
		}
	}
	return b.String()
}

// special are the characters that mean something to roff, or that it shows as
// others.
var special = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`)

// roff writes one line so that it is shown as it is.
func roff(line string) string {
	line = special.Replace(line)
	if strings.HasPrefix(line, ".") {
		line = `\&` + line
	}
	return line
}
