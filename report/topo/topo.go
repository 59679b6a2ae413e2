// Package topo writes how the GPUs of a node reach each other: the matrix of
// path classes that "nvidia-smi topo -m" shows, and beside it the bandwidth
// that each path should have.
package topo

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/peerproof/peerproof/fixtures/profile"
	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/report"
)

// Matrix is a node's paths.
type Matrix struct {
	Simulated string         `json:"simulated,omitempty"` // name of the simulated node
	GPUs      []GPU          `json:"gpus"`
	Paths     []Path         `json:"paths"` // every ordered pair, by row
	by        map[[2]int]int // of Paths
}

// GPU is a row and a column of the matrix.
type GPU struct {
	Slot        string  `json:"slot"`
	BusID       string  `json:"bus_id,omitempty"`
	Model       string  `json:"model,omitempty"`
	NUMA        int     `json:"numa"`         // -1: unknown
	ActiveLinks int     `json:"active_links"` // NVLinks that are up now
	Host        float64 `json:"host"`         // GB/s to and from the host, in theory; 0 unknown
}

// Path is a cell. Theoretical and Floor are in GB/s one way, for copy engines;
// 0 is unknown.
type Path struct {
	From        string  `json:"from"`
	To          string  `json:"to"`
	Class       string  `json:"class"`
	Links       int     `json:"links,omitempty"`
	Theoretical float64 `json:"theoretical"`
	Basis       string  `json:"basis,omitempty"`
	Floor       float64 `json:"floor"`
}

// Of is the matrix of a node that was joined with its profile, which may be nil.
func Of(n *topology.Node, p *profile.Profile) *Matrix {
	m := &Matrix{Simulated: n.Simulated, by: map[[2]int]int{}}
	for i := range n.GPUs {
		g := &n.GPUs[i]
		row := GPU{
			Slot: topology.SlotName(g.Slot), BusID: g.BusID, Model: g.Model, NUMA: g.NUMA,
			Host: p.HostTheory(n, g.Slot).Theoretical,
		}
		for _, l := range g.NVLinks {
			if l.Active {
				row.ActiveLinks++
			}
		}
		m.GPUs = append(m.GPUs, row)
		for j := range n.GPUs {
			if i == j {
				continue
			}
			path := p.Path(n, g.Slot, n.GPUs[j].Slot)
			m.by[[2]int{i, j}] = len(m.Paths)
			m.Paths = append(m.Paths, Path{
				From: row.Slot, To: topology.SlotName(n.GPUs[j].Slot), Class: path.Class, Links: path.Links,
				Theoretical: path.Theoretical, Basis: path.Basis,
				Floor: path.Theoretical * p.Floor(path.Class, profile.CE),
			})
		}
	}
	return m
}

// legend says what the classes mean, in the order of nearness.
var legend = [][2]string{
	{"NV#", "NVLinks, so many of them"},
	{topology.ClassPIX, "one PCIe switch"},
	{topology.ClassPXB, "several PCIe switches, no host bridge"},
	{topology.ClassPHB, "a PCIe host bridge (the processor)"},
	{topology.ClassNODE, "several host bridges of one NUMA node"},
	{topology.ClassSYS, "the link between processors"},
}

// Write writes the matrix of classes, then that of theoretical bandwidth.
func (m *Matrix) Write(w io.Writer) error {
	var b strings.Builder
	if m.Simulated != "" {
		fmt.Fprintf(&b, "SIMULATED node %s\n\n", report.Line(m.Simulated))
	}
	m.table(&b, []string{"NUMA", "host GB/s", "NVLinks up", "bus id"}, func(p Path) string {
		return cmp.Or(p.Class, "?")
	}, func(g GPU) []string {
		return []string{known(float64(g.NUMA)+1, fmt.Sprint(g.NUMA)), known(g.Host, fmt.Sprintf("%.1f", g.Host)), fmt.Sprint(g.ActiveLinks), g.BusID}
	})
	if len(m.Paths) > 0 {
		b.WriteString("\nGB/s from row to column, in theory:\n")
		m.table(&b, nil, func(p Path) string { return known(p.Theoretical, fmt.Sprintf("%.1f", p.Theoretical)) }, nil)
	}
	b.WriteString("\n")
	for _, l := range legend {
		fmt.Fprintf(&b, "%-4s  %s\n", l[0], l[1])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// known is a text, or "?" where what it shows is unknown (0).
func known(value float64, text string) string {
	if value == 0 {
		return "?"
	}
	return text
}

// table writes a row a GPU: its name, a cell a GPU, and further columns.
func (m *Matrix) table(b *strings.Builder, more []string, cell func(Path) string, columns func(GPU) []string) {
	rows := [][]string{{""}}
	for _, g := range m.GPUs {
		rows[0] = append(rows[0], g.Slot)
	}
	rows[0] = append(rows[0], more...)
	for i, g := range m.GPUs {
		row := []string{g.Slot}
		for j := range m.GPUs {
			text := "X"
			if i != j {
				text = cell(m.Paths[m.by[[2]int{i, j}]])
			}
			row = append(row, text)
		}
		if columns != nil {
			row = append(row, columns(g)...)
		}
		rows = append(rows, row)
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			row[i] = report.Line(text)
			widths[i] = max(widths[i], len([]rune(row[i])))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, text := range row {
			fmt.Fprintf(&line, "%-*s  ", widths[i], text)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}
