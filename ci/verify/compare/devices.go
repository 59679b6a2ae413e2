package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/peerproof/peerproof/fixtures/topology"
)

// device is where a GPU is on the PCI bus, as every tool can name it.
type device struct{ domain, bus, slot uint64 }

func (d device) String() string { return fmt.Sprintf("%04x:%02x:%02x", d.domain, d.bus, d.slot) }

// parseDevice reads "0000:18:00", with a domain of any width, with or without a
// function behind it.
func parseDevice(s string) (device, error) {
	s, _, _ = strings.Cut(s, ".")
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return device{}, fmt.Errorf("%q is no PCI address; expected one such as 0000:18:00", plain(s))
	}
	var n [3]uint64
	for i, width := range []int{32, 8, 8} {
		var err error
		if n[i], err = strconv.ParseUint(parts[i], 16, width); err != nil {
			return device{}, fmt.Errorf("%q is no PCI address; expected one such as 0000:18:00", plain(s))
		}
	}
	return device{n[0], n[1], n[2]}, nil
}

// slots names the slot of each device of a tool, by bus id.
func slots(node *topology.Node, devices []device) ([]string, error) {
	at := map[device]string{}
	if node != nil {
		for _, g := range node.GPUs {
			if d, err := parseDevice(g.BusID); err == nil {
				at[d] = topology.SlotName(g.Slot)
			}
		}
	}
	names := make([]string, len(devices))
	for i, d := range devices {
		if names[i] = at[d]; names[i] == "" {
			return nil, fmt.Errorf("device %d is %s, which is no GPU of the run: was it another server, or other visible devices?", i, d)
		}
	}
	return names, nil
}

func ordered(check, from, to string) string { return check + "[" + from + "->" + to + "]" }

func unordered(check, a, b string) string { return check + "[" + a + "-" + b + "]" }

func single(check, gpu string) string { return check + "[" + gpu + "]" }
