package inventory

import "github.com/peerproof/peerproof/fixtures"

// setting is one that an administrator chooses, as the profile expects it and
// as NVML found it. Empty texts say nothing.
type setting struct {
	what, want, got string
	code, hint      string
	functions       []string // of NVML, that got is from
}

// asProfiled ends the spec where a setting is not what the profile says.
func asProfiled(g *fixtures.GPU, s setting) {
	if s.want == "" {
		fixtures.Skip("no-profile", "%s of %s is %s; no profile says what it should be", s.what, g, orUnknown(s.got))
	}
	g.Known(s.functions...)
	if s.got != s.want {
		fixtures.FailWithHint(s.code, s.hint, "%s of %s is %s, the profile says %s", s.what, g, orUnknown(s.got), s.want)
	}
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown to NVML"
	}
	return text
}

// orOff is a mode of something that products or drivers may not have at all.
func orOff(mode string) string {
	if mode == "" {
		return "off"
	}
	return mode
}
