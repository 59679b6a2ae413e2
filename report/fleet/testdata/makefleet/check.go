package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// check compares a fleet.json with what was planted, which is lines as main
// prints them: all of that must be found, and nothing else.
func check(planted, report string) error {
	text, err := os.ReadFile(planted)
	if err != nil {
		return err
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(want)
	got, err := found(report)
	if err != nil {
		return err
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			return fmt.Errorf("planted and not found: %s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			return fmt.Errorf("found and not planted: %s", line)
		}
	}
	fmt.Printf("found all %d that were planted, and nothing else\n", len(want))
	return nil
}

// found are the lines that a report should have been planted with. The file is
// read with types of its own, as another program would read it.
func found(report string) ([]string, error) {
	text, err := os.ReadFile(report)
	if err != nil {
		return nil, err
	}
	var r struct {
		Groups []struct {
			Servers []struct {
				Host     string
				WorstID  string `json:"worst_id"`
				Verdict  string
				Dir      string
				Warnings []string
			}
			Outliers []struct{ Level, Host, Subject string }
			Drift    []struct {
				What   string
				Values []struct {
					Value string
					Hosts []string
				}
			}
		}
		Skipped []struct{ Dir string }
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	var lines []string
	for _, g := range r.Groups {
		for _, s := range g.Servers {
			switch {
			case len(s.Warnings) > 0: // rebuilt from half a journal
				lines = append(lines, "folder "+filepath.Base(s.Dir))
			case s.Verdict != "pass":
				lines = append(lines, fmt.Sprintf("failed %s %s", s.Host, s.WorstID))
			}
		}
		for _, o := range g.Outliers {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("slow %s %s %s", o.Level, o.Host, o.Subject)))
		}
		for _, d := range g.Drift {
			for _, v := range d.Values[1:] {
				for _, host := range v.Hosts {
					lines = append(lines, fmt.Sprintf("drift %s %s", host, v.Value))
				}
			}
		}
	}
	for _, s := range r.Skipped {
		lines = append(lines, "folder "+filepath.Base(s.Dir))
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}
