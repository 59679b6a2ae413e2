package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// nvbandwidth is what `nvbandwidth -j` prints.
type nvbandwidth struct {
	version string
	devices []device // by ordinal
	tests   []nvTest
}

// nvTest is one of its test cases. A cell that it did not measure is nil.
type nvTest struct {
	name, status string
	matrix       [][]*float64
}

// nvDevice is an entry of its device list: "0: NVIDIA H200 (00000000:18:00): (host)".
var nvDevice = regexp.MustCompile(`^([0-9]+): .*\(([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})\)`)

// parseNvbandwidth reads the JSON document, from its first brace on.
func parseNvbandwidth(text []byte) (*nvbandwidth, error) {
	start := bytes.IndexByte(text, '{')
	if start < 0 {
		return nil, errors.New("there is no JSON; expected the output of nvbandwidth -j")
	}
	var doc struct {
		Root *struct {
			Version string   `json:"version"`
			Error   string   `json:"error"`
			Devices []string `json:"GPU Device list"`
			Tests   []struct {
				Name   string     `json:"name"`
				Status string     `json:"status"`
				Matrix [][]string `json:"bandwidth_matrix"`
			} `json:"testcases"`
		} `json:"nvbandwidth"`
	}
	if err := json.NewDecoder(bytes.NewReader(text[start:])).Decode(&doc); err != nil {
		return nil, fmt.Errorf("%w; expected the output of nvbandwidth -j", err)
	}
	if doc.Root == nil {
		return nil, errors.New(`the JSON has no "nvbandwidth"; expected the output of nvbandwidth -j`)
	}
	if doc.Root.Error != "" {
		return nil, fmt.Errorf("nvbandwidth ended with an error: %s", plain(doc.Root.Error))
	}
	n := &nvbandwidth{version: doc.Root.Version}
	for i, text := range doc.Root.Devices {
		m := nvDevice.FindStringSubmatch(text)
		if m == nil || m[1] != strconv.Itoa(i) {
			return nil, fmt.Errorf("entry %d of the GPU device list is %q; expected number, name and bus id", i, plain(text))
		}
		d, err := parseDevice(m[2])
		if err != nil {
			return nil, err
		}
		n.devices = append(n.devices, d)
	}
	for _, t := range doc.Root.Tests {
		test := nvTest{name: t.Name, status: t.Status}
		for _, cells := range t.Matrix {
			if len(cells) != len(n.devices) {
				return nil, fmt.Errorf("%s: a row has %d cells for %d devices", plain(t.Name), len(cells), len(n.devices))
			}
			values := make([]*float64, len(cells))
			for j, c := range cells {
				if c == "N/A" {
					continue
				}
				v, err := strconv.ParseFloat(c, 64)
				if err != nil {
					return nil, fmt.Errorf("%s: %q is neither a number nor N/A", plain(t.Name), plain(c))
				}
				values[j] = &v
			}
			test.matrix = append(test.matrix, values)
		}
		n.tests = append(n.tests, test)
	}
	return n, nil
}

// nvShape is what the cells of a test are about.
type nvShape uint8

const (
	perGPU   nvShape = iota // one row, a column for each GPU
	perPair                 // the row's GPU works on the column's memory, whatever the arrow of the title
	bothWays                // three matrices below each other, the last one the sum of both directions
)

// nvKnown is how a test of nvbandwidth is one of ours, by the sources of its
// version 0.8: a read has the row's GPU pull from the column's, a write has it
// push there.
type nvKnown struct {
	test  string
	check string
	name  string
	unit  string
	shape nvShape
	times float64
	note  string
}

const (
	bandwidth   = "bandwidth"
	loadLatency = "load latency"
	nvSum       = "theirs: each direction over its own time, added; ours: all bytes from the first start to the last end"
)

var nvTests = []nvKnown{
	{"host_to_device_memcpy_ce", "bandwidth/host-to-device", bandwidth, "GB/s", perGPU, 1, ""},
	{"device_to_host_memcpy_ce", "bandwidth/device-to-host", bandwidth, "GB/s", perGPU, 1, ""},
	{"device_local_copy", "bandwidth/local", bandwidth, "GB/s", perGPU, 2, "theirs counts a copy of S bytes as S: doubled"},
	{"device_to_device_memcpy_read_ce", "bandwidth/read-ce", bandwidth, "GB/s", perPair, 1, ""},
	{"device_to_device_memcpy_write_ce", "bandwidth/write-ce", bandwidth, "GB/s", perPair, 1, ""},
	{"device_to_device_memcpy_read_sm", "bandwidth/read-sm", bandwidth, "GB/s", perPair, 1, ""},
	{"device_to_device_memcpy_write_sm", "bandwidth/write-sm", bandwidth, "GB/s", perPair, 1, ""},
	{"device_to_device_bidirectional_memcpy_write_ce", "bandwidth/bidirectional-ce", bandwidth, "GB/s", bothWays, 1, nvSum},
	{"device_to_device_bidirectional_memcpy_write_sm", "bandwidth/bidirectional-sm", bandwidth, "GB/s", bothWays, 1, nvSum},
	{"all_to_one_write_ce", "bandwidth/all-to-one", bandwidth, "GB/s", perGPU, 1, ""},
	{"one_to_all_write_ce", "bandwidth/one-to-all", bandwidth, "GB/s", perGPU, 1, ""},
	{"device_to_device_latency_sm", "latency/chase", loadLatency, "ns", perPair, 1, "theirs: a fixed stride through 2 MiB; ours: a random cycle through up to 32 MiB"},
	{"host_device_latency_sm", "latency/chase-host", loadLatency, "ns", perGPU, 1, "theirs: a fixed stride through 2 MiB; ours: a random cycle through up to 32 MiB"},
}

// The two tests whose sum is bandwidth/host-bidirectional.
const (
	nvDown = "host_to_device_bidirectional_memcpy_ce"
	nvUp   = "device_to_host_bidirectional_memcpy_ce"
)

// figures are those that we measure too; left names the tests that are none of
// ours, or that did not run.
func (n *nvbandwidth) figures(names []string) (all []theirs, left []string, err error) {
	tool := "nvbandwidth " + n.version + " "
	host := map[string][]*float64{}
	for _, t := range n.tests {
		if t.status != "Passed" {
			left = append(left, fmt.Sprintf("nvbandwidth %s: %s", t.name, t.status))
			continue
		}
		if t.name == nvDown || t.name == nvUp {
			if len(t.matrix) != 1 {
				return nil, nil, fmt.Errorf("%s: %d rows, expected one", t.name, len(t.matrix))
			}
			host[t.name] = t.matrix[0]
			continue
		}
		known := nvKnown{}
		for _, k := range nvTests {
			if k.test == t.name {
				known = k
			}
		}
		if known.test == "" {
			left = append(left, fmt.Sprintf("nvbandwidth %s: peerproof measures nothing like it", t.name))
			continue
		}
		cells, err := known.cells(t.matrix, len(n.devices))
		if err != nil {
			return nil, nil, err
		}
		for i, row := range cells {
			for j, v := range row {
				if v != nil {
					all = append(all, theirs{tool + t.name, known.id(names, i, j), known.name, known.times * *v, known.unit, known.note})
				}
			}
		}
	}
	for i, down := range host[nvDown] {
		if up := host[nvUp]; i < len(up) && down != nil && up[i] != nil {
			all = append(all, theirs{
				tool + nvDown + " and its reverse", single("bandwidth/host-bidirectional", names[i]), bandwidth, *down + *up[i], "GB/s",
				"theirs: each direction beside a longer one the other way, the two added; ours: all bytes from the first start to the last end",
			})
		}
	}
	return all, left, nil
}

// cells are the rows of the matrix that hold the test's figure.
func (k nvKnown) cells(matrix [][]*float64, gpus int) ([][]*float64, error) {
	rows := map[nvShape]int{perGPU: 1, perPair: gpus, bothWays: 3 * gpus}[k.shape]
	if len(matrix) != rows {
		return nil, fmt.Errorf("%s: %d rows for %d devices, expected %d", k.test, len(matrix), gpus, rows)
	}
	if k.shape == bothWays {
		return matrix[2*gpus:], nil
	}
	return matrix, nil
}

// id is our spec for a cell.
func (k nvKnown) id(names []string, row, column int) string {
	switch k.shape {
	case perPair:
		return ordered(k.check, names[row], names[column])
	case bothWays:
		return unordered(k.check, names[min(row, column)], names[max(row, column)])
	default:
		return single(k.check, names[column])
	}
}
