package html

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/report"
)

// inventory is node.json as tables: every field of it, by its name there, so
// that a field that is new is shown as well.
type inventory struct {
	Host, Driver []fact
	Hidden       []topology.Hidden
	Slots        []string
	GPUs         []factRow
}

type fact struct{ Name, Value string }

// factRow is one fact of every GPU.
type factRow struct {
	Name   string
	Values []string
	Same   bool // all GPUs that tell it say the same, Common
	Common string
	Who    string // "all", or how many tell it
}

func newInventory(n *topology.Node) inventory {
	v := inventory{Host: facts(n.Host), Driver: facts(n.Driver), Hidden: n.Hidden}
	rows := map[string]int{}
	for i := range n.GPUs {
		v.Slots = append(v.Slots, topology.SlotName(n.GPUs[i].Slot))
		g := n.GPUs[i]
		links := g.NVLinks
		g.NVLinks = nil
		counted := ""
		if g.Counters != nil {
			c := *g.Counters
			counted = risen(c.Link)
			c.Link = nil
			g.Counters = &c
		}
		all := facts(g)
		if counted != "" {
			all = append(all, fact{"nvlink counters", counted})
		}
		for _, l := range links {
			all = append(all, fact{fmt.Sprintf("nvlink %d", l.Link), linkText(l)})
		}
		const most = 400 // facts of a GPU
		for _, f := range all[:min(len(all), most)] {
			at, known := rows[f.Name]
			if !known {
				at = len(v.GPUs)
				rows[f.Name] = at
				v.GPUs = append(v.GPUs, factRow{Name: f.Name, Values: make([]string, len(n.GPUs))})
			}
			v.GPUs[at].Values[i] = f.Value
		}
	}
	for i := range v.GPUs {
		v.GPUs[i].compare()
	}
	return v
}

// compare finds out whether one value stands for all GPUs.
func (r *factRow) compare() {
	told := 0
	for _, value := range r.Values {
		if value == "" {
			continue
		}
		if told == 0 {
			r.Common = value
		} else if value != r.Common {
			return
		}
		told++
	}
	r.Same, r.Who = told > 1, "all"
	if told < len(r.Values) {
		r.Who = fmt.Sprintf("%d of %d, the others do not tell", told, len(r.Values))
	}
}

// risen are those of the links' counters that are not zero.
func risen(links map[int]map[string]uint64) string {
	if len(links) == 0 {
		return ""
	}
	var words []string
	for _, link := range slices.Sorted(maps.Keys(links)) {
		for _, counter := range slices.Sorted(maps.Keys(links[link])) {
			if n := links[link][counter]; n > 0 {
				words = append(words, fmt.Sprintf("link %d %s %d", link, counter, n))
			}
		}
	}
	return cmp.Or(strings.Join(words, ", "), "all 0")
}

func linkText(l topology.NVLink) string {
	text := "✗ DOWN"
	if l.Active {
		text = "up"
	}
	if l.Version > 0 {
		text += fmt.Sprintf(", v%d", l.Version)
	}
	if l.Switch {
		text += ", switch"
	}
	if l.Remote != "" {
		text += " " + l.Remote
	}
	return text
}

// facts are the fields of a value's JSON, in their order, those within others
// named by both.
func facts(value any) []fact {
	data, err := json.Marshal(value)
	if err != nil {
		return []fact{{"error", err.Error()}}
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var all []fact
	flatten(decoder, "", &all)
	return all
}

// flatten reads one value from JSON that this program has made.
func flatten(d *json.Decoder, key string, into *[]fact) {
	token, err := d.Token()
	if err != nil {
		return
	}
	switch token {
	case json.Delim('{'):
		for d.More() {
			word, err := d.Token()
			if err != nil {
				return
			}
			flatten(d, strings.TrimSpace(key+" "+strings.ReplaceAll(fmt.Sprint(word), "_", " ")), into)
		}
		_, _ = d.Token()
	case json.Delim('['):
		var parts []string
		for d.More() {
			var inner []fact
			flatten(d, "", &inner)
			var words []string
			for _, f := range inner {
				words = append(words, strings.TrimSpace(f.Name+" "+f.Value))
			}
			parts = append(parts, strings.Join(words, ", "))
		}
		_, _ = d.Token()
		*into = append(*into, fact{key, strings.Join(parts, "; ")})
	default:
		*into = append(*into, fact{key, factText(key, token)})
	}
}

func factText(key string, token json.Token) string {
	switch v := token.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case nil:
		return "unknown"
	case json.Number:
		n, err := v.Float64()
		if err == nil && strings.HasSuffix(key, "bytes") && n > 0 {
			return report.Number(n/(1<<30)) + " GiB (" + v.String() + ")"
		}
		if key == "numa" && v.String() == "-1" {
			return "unknown"
		}
		return v.String()
	default:
		return fmt.Sprint(token)
	}
}
