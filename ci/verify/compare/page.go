package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// number is one that stands by itself: neither the 0 of gpu0 nor the 12 of NV12.
var number = regexp.MustCompile(`\b(0x[0-9a-fA-F_x]+|[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(\.[0-9])?|[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?)\b`)

// shape is a text without the figures in it, which no two runs share.
func shape(s string) string { return number.ReplaceAllString(s, "#") }

// beside puts what a simulated node answers beside what was seen. Figures may
// differ where they were measured; answers of a driver may not.
func beside(seen, simulated []topic) {
	for t := range seen {
		answers := map[string][]string{} // one subject can have several, in order
		for _, f := range simulated[t].Facts {
			answers[f.Subject] = append(answers[f.Subject], f.Seen)
		}
		for i := range seen[t].Facts {
			f := &seen[t].Facts[i]
			if left := answers[f.Subject]; len(left) > 0 {
				f.Simulated, answers[f.Subject] = left[0], left[1:]
			}
			same := placeless
			if measured(seen[t].Source) {
				same = kept
			}
			f.Differs = same(f.Seen) != same(f.Simulated)
		}
		for _, f := range simulated[t].Facts { // what the simulation alone says
			if left := answers[f.Subject]; len(left) > 0 && left[len(left)-1] == f.Seen {
				seen[t].Facts = append(seen[t].Facts, fact{Subject: f.Subject, Simulated: f.Seen, Differs: true})
				answers[f.Subject] = left[:len(left)-1]
			}
		}
	}
}

// measured says that a topic's facts hold figures.
func measured(source string) bool { return !strings.HasPrefix(source, "node.json") }

// address is a place on the PCI bus, which means nothing on another node.
var address = regexp.MustCompile(`\b[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(\.[0-9])?\b`)

func placeless(s string) string { return address.ReplaceAllString(s, "#") }

// errorNumber is how an error of the driver ends.
var errorNumber = regexp.MustCompile(`[A-Z_]{6,} \([0-9]+\)|Xid [0-9]+`)

// kept is the shape of a text, and the error numbers in it.
func kept(s string) string { return shape(s) + strings.Join(errorNumber.FindAllString(s, -1), " ") }

// page is the topics as Markdown; both says that a simulation stands beside.
func page(all []topic, about string, both bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What the driver answered%s\n", about)
	var none []string
	for _, t := range all {
		if len(t.Facts) == 0 {
			none = append(none, fmt.Sprintf("%s (%s)", t.Name, t.Source))
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\nFrom %s.\n\n", cell(t.Name), cell(t.Source))
		if both {
			b.WriteString("| subject | seen | simulated | |\n|---|---|---|---|\n")
		} else {
			b.WriteString("| subject | seen |\n|---|---|\n")
		}
		for _, f := range t.Facts {
			if !both {
				fmt.Fprintf(&b, "| %s | %s |\n", cell(f.Subject), cell(f.Seen))
				continue
			}
			simulated, mark := f.Simulated, ""
			if f.Differs {
				mark = "DIFFERS"
			} else if simulated == f.Seen {
				simulated = "the same"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell(f.Subject), cell(f.Seen), cell(simulated), mark)
		}
	}
	b.WriteString("\n## Not recorded\n\n")
	for _, line := range append(none, unrecorded...) {
		fmt.Fprintf(&b, "- %s\n", cell(line))
	}
	return b.String()
}
