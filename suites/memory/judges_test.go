package memory

import (
	"strings"
	"testing"

	"github.com/peerproof/peerproof/fixtures"
)

func TestJudgeECC(t *testing.T) {
	on := fixtures.ECC{Mode: "on", Default: "on", Counted: true, GiB: 100}
	with := func(change func(*fixtures.ECC)) fixtures.ECC {
		e := on
		change(&e)
		return e
	}
	for name, c := range map[string]struct {
		e          fixtures.ECC
		want, code string
	}{
		"right":                       {on, "", ""},
		"off, as the product ships":   {fixtures.ECC{Mode: "off", Default: "off"}, "", "no-ecc"},
		"the product has none":        {fixtures.ECC{}, "", "no-ecc"},
		"off, the product has it on":  {fixtures.ECC{Mode: "off", Default: "on"}, "", "ecc-off"},
		"off, the profile has it on":  {fixtures.ECC{Mode: "off", Default: "off"}, "on", "ecc-off"},
		"none, the profile has it on": {fixtures.ECC{}, "on", "ecc-off"},
		"off, as the profile says":    {fixtures.ECC{Mode: "off", Default: "on"}, "off", "no-ecc"},
		"nothing is counted":          {with(func(e *fixtures.ECC) { e.Counted = false }), "", "no-ecc"},
		"uncorrected before":          {with(func(e *fixtures.ECC) { e.Uncorrected = 1 }), "", "ecc-uncorrected"},
		"uncorrected now":             {with(func(e *fixtures.ECC) { e.Uncorrected, e.UncorrectedRise = 2, 1 }), "", "ecc-uncorrected"},
		"corrected, at the limit":     {with(func(e *fixtures.ECC) { e.Corrected = [3]uint64{5, 5, 6} }), "", ""},
		"corrected, above it":         {with(func(e *fixtures.ECC) { e.Corrected = [3]uint64{5, 6, 7} }), "", "ecc-rate"},
		"corrected long ago":          {with(func(e *fixtures.ECC) { e.Corrected = [3]uint64{900, 900, 900} }), "", ""},
		"no load":                     {with(func(e *fixtures.ECC) { e.GiB, e.Corrected = 0, [3]uint64{0, 9, 9} }), "", ""},
		"a counter that was reset":    {with(func(e *fixtures.ECC) { e.Corrected = [3]uint64{9, 0, 0} }), "", ""},
	} {
		if code, message := judgeECC(c.e, c.want, 0.01); code != c.code || (code == "") != (message == "") {
			t.Errorf("%s: %q %q, want %q", name, code, message, c.code)
		}
	}
}

func TestJudgeRows(t *testing.T) {
	for name, c := range map[string]struct {
		rows       fixtures.Remapped
		code, says string
	}{
		"none":               {fixtures.Remapped{}, "", ""},
		"completed":          {fixtures.Remapped{Corrected: 1, Uncorrected: 2}, "", ""},
		"pending":            {fixtures.Remapped{Uncorrected: 1, Pending: true}, "remap-pending", "reset"},
		"failed":             {fixtures.Remapped{Failed: true}, "remap-failed", "RMA"},
		"failed and pending": {fixtures.Remapped{Failed: true, Pending: true}, "remap-failed", "RMA"},
	} {
		code, _, hint := judgeRows(c.rows)
		if code != c.code || !strings.Contains(hint, c.says) {
			t.Errorf("%s: %q, hint %q", name, code, hint)
		}
	}
}
