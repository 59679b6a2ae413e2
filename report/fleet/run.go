package fleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/peerproof/peerproof/fixtures/topology"
	"github.com/peerproof/peerproof/fixtures/verdict"
	"github.com/peerproof/peerproof/report"
)

// Run is one run, reduced to what a fleet looks at.
type Run struct {
	Dir      string
	Source   string
	Info     report.Run
	Verdict  verdict.Verdict
	Exit     int
	Counts   report.Counts
	Warnings []string
	GPUs     []report.GPU

	live            bool // it still goes on
	serial, product string
	facts           []fact
	bad             []*badSpecs
	worst           *worst
	figures         []figure
}

// fact is a version that should be the same on every server.
type fact struct{ what, value, part string }

// badSpecs is the specs of one check that failed or erred with one code.
type badSpecs struct {
	verdict     verdict.Verdict
	code, check string
	message     string // of the first
	subjects    []string
}

// worst is the spec to look at first.
type worst struct {
	rank     int
	id, code string
}

// placeholders are what boards without a serial number or product name say
// (DMI, lower case).
var placeholders = []string{
	"", "0", "none", "n/a", "unknown", "default string", "not specified", "not applicable", "system serial number",
	"system product name", "to be filled by o.e.m.", "to be filled by oem", "0123456789", "123456789", "1234567890", "xxxxxxxxxx",
}

// known is a text of DMI, or "" for one that says nothing.
func known(text string) string {
	text = report.Line(text)
	if slices.Contains(placeholders, strings.ToLower(text)) {
		return ""
	}
	return text
}

// standing is what the run says of its server: its verdict, unless the run
// proves nothing, or still goes on and nothing is bad so far.
func (r *Run) standing() Standing {
	switch {
	case report.ProvesNothing(r.Warnings):
		return Broken
	case r.live && r.Verdict != verdict.Fail && r.Verdict != verdict.Error:
		return Live
	}
	return Standing(r.Verdict)
}

// take adds one spec to the run.
func (r *Run) take(s *spec, c *catalogue) {
	check, subject := split(s.ID)
	for i := range s.Measurements {
		m := &s.Measurements[i]
		if k, ok := keyOf(check, subject, s.Path, m.Name, m.Unit); ok && m.Value > 0 {
			r.figures = append(r.figures, figure{series: c.number(k), value: m.Value})
		}
	}
	if s.Verdict != verdict.Fail && s.Verdict != verdict.Error {
		return
	}
	rank := 0
	switch {
	case report.Follows(s.Code):
		rank = 2
	case s.Verdict == verdict.Error:
		rank = 1
	}
	if r.worst == nil || rank < r.worst.rank {
		r.worst = &worst{rank: rank, id: s.ID, code: s.Code}
	}
	i := slices.IndexFunc(r.bad, func(b *badSpecs) bool { return b.verdict == s.Verdict && b.code == s.Code && b.check == check })
	if i < 0 {
		i = len(r.bad)
		r.bad = append(r.bad, &badSpecs{verdict: s.Verdict, code: s.Code, check: check, message: report.Cut(s.Message, maxMessage, "…")})
	}
	r.bad[i].subjects = append(r.bad[i].subjects, c.word(subject))
}

// maxMessage bounds what is kept of a message, in bytes; the run's own reports
// have it whole.
const maxMessage = 400

// split takes an id apart: check, and the text between the brackets.
func split(id string) (check, subject string) {
	check, subject, _ = strings.Cut(id, "[")
	return check, strings.TrimSuffix(subject, "]")
}

// inventory is what a fleet looks at of node.json.
type inventory struct {
	Version int `json:"version"`
	Host    struct {
		Kernel        string `json:"kernel"`
		Serial        string `json:"serial"`
		Product       string `json:"product"`
		FabricManager string `json:"fabric_manager"`
	} `json:"host"`
	Driver struct {
		KernelModule string `json:"kernel_module"`
		NVML         string `json:"nvml"`
		CUDA         int    `json:"cuda"`
	} `json:"driver"`
	GPUs []firmware `json:"gpus"`
}

type firmware struct {
	Slot    int    `json:"slot"`
	Model   string `json:"model"`
	VBIOS   string `json:"vbios"`
	InfoROM string `json:"inforom"`
}

// inventoryOf is the same of a journal's inventory.
func inventoryOf(n *topology.Node) *inventory {
	v := &inventory{Version: n.Version}
	v.Host.Kernel, v.Host.Serial, v.Host.Product = n.Host.Kernel, n.Host.Serial, n.Host.Product
	v.Host.FabricManager = n.Host.FabricManager
	v.Driver.KernelModule, v.Driver.NVML, v.Driver.CUDA = n.Driver.KernelModule, n.Driver.NVML, n.Driver.CUDA
	for i := range n.GPUs {
		g := &n.GPUs[i]
		v.GPUs = append(v.GPUs, firmware{g.Slot, g.Model, g.VBIOS, g.InfoROM})
	}
	return v
}

// equip adds what the inventory says; nil where there is none.
func (r *Run) equip(v *inventory) {
	if v == nil {
		return
	}
	r.serial, r.product = known(v.Host.Serial), known(v.Host.Product)
	r.fact("driver", cmp.Or(v.Driver.NVML, v.Driver.KernelModule), "")
	if v.Driver.CUDA > 0 {
		r.fact("CUDA of the driver", fmt.Sprintf("%d.%d", v.Driver.CUDA/1000, v.Driver.CUDA%1000/10), "")
	}
	r.fact("kernel", v.Host.Kernel, "")
	r.fact("Fabric Manager", v.Host.FabricManager, "")
	for i := range v.GPUs {
		g := &v.GPUs[i]
		r.fact("VBIOS of "+g.Model, g.VBIOS, topology.SlotName(g.Slot))
		r.fact("InfoROM of "+g.Model, g.InfoROM, topology.SlotName(g.Slot))
	}
}

// profiled adds which tool ran with which profile. Text is the profile's YAML,
// "" where it is not known.
func (r *Run) profiled(text string) {
	r.fact("peerproof", r.Info.Tool, "")
	r.fact("profile", cmp.Or(r.Info.Profile, "none"), "")
	if text != "" {
		sum := sha256.Sum256([]byte(text))
		r.fact("text of profile "+r.Info.Profile, "SHA-256 "+hex.EncodeToString(sum[:6]), "")
	}
}

// fact notes a version, where it is known.
func (r *Run) fact(what, value, part string) {
	if what, value = report.Line(what), report.Line(value); value != "" {
		r.facts = append(r.facts, fact{what: what, value: value, part: part})
	}
}

// kind is what a server must share with another to be compared with it.
func (r *Run) kind() string {
	count := map[string]int{}
	for i := range r.GPUs {
		count[cmp.Or(report.Line(r.GPUs[i].Model), "unknown GPU")]++
	}
	var parts []string
	for model, n := range count {
		parts = append(parts, strconv.Itoa(n)+" x "+model)
	}
	slices.Sort(parts)
	if len(parts) == 0 {
		parts = []string{"no GPU"}
	}
	if r.product != "" {
		parts = append(parts, r.product)
	}
	return strings.Join(parts, ", ")
}

// gpu is the GPU of a slot; where the inventory has none, one with the slot's
// name alone.
func (r *Run) gpu(slot string) report.GPU {
	for i := range r.GPUs {
		if r.GPUs[i].Slot == slot {
			return r.GPUs[i]
		}
	}
	return report.GPU{Slot: slot, NUMA: -1}
}

// place is the whole server.
func (r *Run) place() Place {
	return Place{Level: levelServer, Host: r.Info.Host, ServerSerial: r.serial, Dir: r.Dir}
}

// at is the place of a subject: a GPU or a pair of the server.
func (r *Run) at(subject string) Place {
	p := r.place()
	from, to := ends(subject)
	if subject == "" || from == "" {
		return p
	}
	p.Level, p.Subject, p.GPUs = levelGPU, subject, []report.GPU{r.gpu(from)}
	if to != "" && to != from {
		p.Level, p.GPUs = levelPair, append(p.GPUs, r.gpu(to))
	}
	return p
}

// The levels of a place.
const (
	levelServer = "server"
	levelGPU    = "gpu"
	levelPair   = "pair"
)

// ends are the slots of a subject: from and to of a pair, or one and "".
func ends(subject string) (from, to string) {
	if from, to, ok := strings.Cut(subject, "->"); ok {
		return from, to
	}
	from, to, _ = strings.Cut(subject, "-")
	return from, to
}
