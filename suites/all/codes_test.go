package all_test

import (
	"strings"
	"testing"

	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/codes"
)

// What a check is seen to end with, its code's entry says of it; and what an
// entry names exists.
func TestCodesNameTheirChecks(t *testing.T) {
	for _, f := range faults {
		_, code, _ := strings.Cut(f.want, " ")
		check, _, _ := strings.Cut(f.spec, "[")
		switch e, ok := codes.Lookup(code); {
		case code == "":
		case !ok:
			t.Errorf("%s ends with %q, which is not registered", f.spec, code)
		case !e.Of(check):
			t.Errorf("%s ends with %q, whose entry does not name the check", f.spec, code)
		}
	}
	for _, e := range codes.All() {
		for _, pattern := range e.Checks {
			named := false
			for _, c := range fixtures.Default.Checks() {
				named = named || (codes.Entry{Checks: []string{pattern}}).Of(c.ID)
			}
			if !named {
				t.Errorf("%s: no check is %s", e.Code, pattern)
			}
		}
	}
}
