package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// p2pTest is what CUDA's sample p2pBandwidthLatencyTest prints.
type p2pTest struct {
	devices  []device // by ordinal
	access   [][]float64
	matrices map[string][][]float64 // by title; a latency is the GPU's, not the CPU's
}

// The titles of the matrices, and the word before their columns.
const (
	p2pAccess  = "P2P Connectivity Matrix"
	p2pStaged  = "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)"
	p2pWrites  = "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)"
	p2pReads   = "Unidirectional P2P=Enabled Bandwidth (P2P Reads) Matrix (GB/s)"
	p2pBoth    = "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)"
	p2pLatency = "P2P=Enabled Latency (P2P Writes) Matrix (us)"
)

var (
	p2pDevice = regexp.MustCompile(`^Device: ([0-9]+), .*, pciBusID: ([0-9a-fA-F]{1,2}), pciDeviceID: ([0-9a-fA-F]{1,2}), pciDomainID: ?([0-9a-fA-F]{1,8})$`)
	p2pTitle  = regexp.MustCompile(`^(P2P Connectivity Matrix|(Unidirectional |Bidirectional |)P2P=.* Matrix \((GB/s|us)\))$`)
)

// parseP2P reads its whole output.
func parseP2P(text []byte) (*p2pTest, error) {
	p := &p2pTest{matrices: map[string][][]float64{}}
	title, rows := "", 0 // what the next rows belong to, and how many are to come
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), " \r")
		if m := p2pDevice.FindStringSubmatch(line); m != nil {
			if m[1] != strconv.Itoa(len(p.devices)) {
				return nil, fmt.Errorf("device %s is named after %d others", m[1], len(p.devices))
			}
			d, err := parseDevice(m[4] + ":" + m[2] + ":" + m[3])
			if err != nil {
				return nil, err
			}
			p.devices = append(p.devices, d)
			continue
		}
		words := strings.Fields(line)
		switch {
		case rows > 0:
			row, err := p2pRow(words, len(p.devices), len(p.devices)-rows)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", title, err)
			}
			p.matrices[title] = append(p.matrices[title], row)
			if rows--; rows == 0 {
				title = "" // the CPU's latencies, which follow, are nobody's
			}
		case p2pTitle.MatchString(line):
			if title = line; p.matrices[title] != nil {
				return nil, fmt.Errorf("%s is there twice", title)
			}
		case title != "" && len(words) > 0 && (words[0] == `D\D` || words[0] == "GPU"):
			if len(words)-1 != len(p.devices) {
				return nil, fmt.Errorf("%s: %d columns for %d devices", title, len(words)-1, len(p.devices))
			}
			rows = len(p.devices)
		}
	}
	switch {
	case lines.Err() != nil:
		return nil, lines.Err()
	case len(p.devices) == 0:
		return nil, errors.New("no device is named; expected the output of p2pBandwidthLatencyTest")
	case rows > 0:
		return nil, fmt.Errorf("%s: the output ends before its last %d row(s)", title, rows)
	}
	p.access = p.matrices[p2pAccess]
	delete(p.matrices, p2pAccess)
	if p.access == nil {
		return nil, errors.New("the connectivity matrix is missing")
	}
	return p, nil
}

func p2pRow(words []string, columns, index int) ([]float64, error) {
	if len(words) != columns+1 || words[0] != strconv.Itoa(index) {
		return nil, fmt.Errorf("expected row %d with %d figures, found %q", index, columns, plain(strings.Join(words, " ")))
	}
	row := make([]float64, columns)
	for i, w := range words[1:] {
		v, err := strconv.ParseFloat(w, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no number", plain(w))
		}
		row[i] = v
	}
	return row, nil
}

// p2pStage says what the sample does where two GPUs have no access.
const p2pStage = "p2pBandwidthLatencyTest %s -> %s: no access, so that its figures are those of copies through the host"

// figures are those that we measure too. The row's GPU drives the copy; with
// sm its kernels do. Between GPUs without access the sample goes through the
// host and says P2P all the same: those cells are left out.
func (p *p2pTest) figures(names []string, sm bool) (all []theirs, left []string) {
	engine, tool := "ce", "p2pBandwidthLatencyTest"
	if sm {
		engine, tool = "sm", "p2pBandwidthLatencyTest --sm_copy"
	}
	for i := range names {
		for j := range names {
			if i != j && p.access[i][j] == 0 && !sm {
				left = append(left, fmt.Sprintf(p2pStage, names[i], names[j]))
			}
		}
	}
	add := func(title, suffix string, give func(i, j int) (spec, name, unit, note string)) {
		for i, row := range p.matrices[title] {
			for j, v := range row {
				if i != j && p.access[i][j] == 0 && title != p2pStaged {
					continue
				}
				if spec, name, unit, note := give(i, j); spec != "" {
					all = append(all, theirs{tool + " " + suffix, spec, name, v, unit, note})
				}
			}
		}
	}
	oneWay := func(check string) func(i, j int) (string, string, string, string) {
		return func(i, j int) (string, string, string, string) {
			switch {
			case i != j:
				return ordered(check+engine, names[i], names[j]), bandwidth, "GB/s", ""
			case check == "bandwidth/write-" && !sm:
				return single("bandwidth/local", names[i]), bandwidth, "GB/s", "both count a copy of S bytes as 2S"
			}
			return "", "", "", ""
		}
	}
	add(p2pWrites, "writes", oneWay("bandwidth/write-"))
	add(p2pReads, "reads", oneWay("bandwidth/read-"))
	add(p2pBoth, "bidirectional", func(i, j int) (string, string, string, string) {
		if i == j {
			return "", "", "", ""
		}
		return unordered("bandwidth/bidirectional-"+engine, names[min(i, j)], names[max(i, j)]), bandwidth, "GB/s", ""
	})
	if sm { // it times launches of kernels there, and copies through the host in the same way
		return all, left
	}
	add(p2pStaged, "without P2P", func(i, j int) (string, string, string, string) {
		if i == j {
			return "", "", "", ""
		}
		return ordered("transfer/staged", names[i], names[j]), "staged", "GB/s", ""
	})
	add(p2pLatency, "latency of writes", func(i, j int) (string, string, string, string) {
		if i == j {
			return "", "", "", ""
		}
		return ordered("latency/copy", names[i], names[j]), "copy of 16 bytes", "us", ""
	})
	return all, left
}
