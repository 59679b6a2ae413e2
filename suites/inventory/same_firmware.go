package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("inventory/same-firmware", fixtures.Whole, Label("gate"),
	"VBIOS and InfoROM agree among the GPUs of one model", func(n *fixtures.Node) {
		n.Known("nvmlDeviceGetVbiosVersion", "nvmlDeviceGetInforomImageVersion", "nvmlDeviceGetName")
		compared, mixed := judgeFirmware(n.GPUs)
		switch {
		case len(mixed) > 0:
			fixtures.FailWithHint("mixed-firmware", "update all boards of a model to one version; a board of another version often came in later, as a spare part",
				"%s", strings.Join(mixed, "; "))
		case !compared:
			fixtures.Skip("no-subjects", "no two GPUs of one model tell their firmware")
		}
	}, fixtures.Needs(fixtures.NVML))

// judgeFirmware compares what GPUs of one model tell of their firmware, and
// says whether there were two to compare. The version that most have is taken
// for the right one.
func judgeFirmware(gpus []fixtures.Facts) (compared bool, mixed []string) {
	for _, part := range []struct {
		name string
		of   func(fixtures.Facts) string
	}{
		{"VBIOS", func(g fixtures.Facts) string { return g.VBIOS }},
		{"InfoROM", func(g fixtures.Facts) string { return g.InfoROM }},
	} {
		have := map[string]map[string][]string{} // names by version, by model
		for _, g := range gpus {
			version := part.of(g)
			if g.Model == "" || version == "" {
				continue
			}
			if have[g.Model] == nil {
				have[g.Model] = map[string][]string{}
			}
			have[g.Model][version] = append(have[g.Model][version], fmt.Sprintf("gpu%d", g.Slot))
		}
		for _, model := range slices.Sorted(maps.Keys(have)) {
			versions := have[model]
			total := 0
			for _, names := range versions {
				total += len(names)
			}
			compared = compared || total > 1
			if len(versions) > 1 {
				mixed = append(mixed, disagreement(model, part.name, versions))
			}
		}
	}
	return compared, mixed
}

// disagreement lists the versions, the most common first.
func disagreement(model, part string, versions map[string][]string) string {
	order := slices.Sorted(maps.Keys(versions))
	slices.SortStableFunc(order, func(a, b string) int { return len(versions[b]) - len(versions[a]) })
	var each []string
	for i, v := range order {
		who := strings.Join(versions[v], ", ")
		if i == 0 && len(versions[v]) > 1 && len(versions[v]) > len(versions[order[1]]) {
			who = fmt.Sprintf("%d others", len(versions[v]))
			each = append(each, v+" of "+who)
			continue
		}
		each = append(each, v+" of "+who)
	}
	slices.Reverse(each) // the odd one is what the reader looks for
	return fmt.Sprintf("%s of %s differs: %s", part, model, strings.Join(each, ", "))
}
