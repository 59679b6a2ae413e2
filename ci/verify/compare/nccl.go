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

// ncclTest is what a program of nccl-tests prints.
type ncclTest struct {
	devices []device // by rank
	rows    []ncclRow
}

// ncclRow is one size, out of place.
type ncclRow struct {
	bytes        uint64
	algbw, busbw float64 // GB/s
	wrong        uint64
}

// ncclRank is "#  Rank  0 Group  0 Pid  1 on host device  0 [0000:18:00] NVIDIA H200";
// older versions have no group, and the bus number alone.
var ncclRank = regexp.MustCompile(`^#\s+Rank\s+([0-9]+) .*device\s+[0-9]+ \[(?:0x)?([0-9a-fA-F:]+)\]`)

// parseNCCL reads the output of one program.
func parseNCCL(text []byte) (*ncclTest, error) {
	n := &ncclTest{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if m := ncclRank.FindStringSubmatch(line); m != nil {
			address := m[2]
			if !strings.Contains(address, ":") {
				address = "0000:" + address + ":00"
			}
			d, err := parseDevice(address)
			if err != nil {
				return nil, err
			}
			if m[1] != strconv.Itoa(len(n.devices)) {
				return nil, fmt.Errorf("rank %s is named after %d others", m[1], len(n.devices))
			}
			n.devices = append(n.devices, d)
			continue
		}
		row, ok, err := ncclLine(strings.Fields(line))
		if err != nil {
			return nil, err
		}
		if ok {
			n.rows = append(n.rows, row)
		}
	}
	switch {
	case lines.Err() != nil:
		return nil, lines.Err()
	case len(n.devices) == 0:
		return nil, errors.New("no rank is named; expected the output of a program of nccl-tests")
	case len(n.rows) == 0:
		return nil, errors.New("there is no figure: the test did not come to its end")
	}
	return n, nil
}

// ncclLine reads size, count, type, operation, root, then time, algbw, busbw
// and wrong elements, out of place and in place.
func ncclLine(words []string) (r ncclRow, ok bool, err error) {
	if len(words) != 13 {
		return r, false, nil
	}
	if r.bytes, err = strconv.ParseUint(words[0], 10, 64); err != nil {
		return r, false, nil // a line of text
	}
	for i, at := range map[int]*float64{6: &r.algbw, 7: &r.busbw} {
		if *at, err = strconv.ParseFloat(words[i], 64); err != nil {
			return r, false, fmt.Errorf("size %d: %q is no bandwidth", r.bytes, plain(words[i]))
		}
	}
	if words[8] == "N/A" {
		return r, true, nil
	}
	wrong, err := strconv.ParseFloat(words[8], 64)
	if err != nil || wrong < 0 || wrong > 1<<62 {
		return r, false, fmt.Errorf("size %d: %q is no number of wrong elements", r.bytes, plain(words[8]))
	}
	r.wrong = uint64(wrong)
	return r, true, nil
}

// collectives are our checks, by the names of nccl-tests' programs.
var collectives = map[string]string{
	"all_reduce": "collective/all-reduce", "all_gather": "collective/all-gather",
	"reduce_scatter": "collective/reduce-scatter", "sendrecv": "collective/send-recv",
}

// figures is that of the largest size. With one rank nothing crosses a bus,
// and we record the algorithm's bandwidth.
func (n *ncclTest) figures(program string) ([]theirs, []string, error) {
	check := collectives[program]
	if check == "" {
		return nil, nil, fmt.Errorf("nccl-tests has no program %q that peerproof has a check for; expected all_reduce, all_gather, reduce_scatter or sendrecv", plain(program))
	}
	best := n.rows[0]
	for _, r := range n.rows {
		if r.bytes >= best.bytes {
			best = r
		}
	}
	t := theirs{
		tool: program + "_perf", spec: check, name: "bus bandwidth", value: best.busbw, unit: "GB/s",
		note: fmt.Sprintf("%d ranks, %d MiB, out of place", len(n.devices), best.bytes>>20),
	}
	if len(n.devices) == 1 {
		t.name, t.value = "algorithm bandwidth", best.algbw
	}
	var left []string
	if best.wrong > 0 {
		left = append(left, fmt.Sprintf("%s_perf found %d wrong elements", program, best.wrong))
	}
	return []theirs{t}, left, nil
}
