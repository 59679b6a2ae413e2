package sim

import (
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/goccy/go-yaml/ast"
)

// fault is one thing that is wrong with the node. Which fields mean something
// depends on its kind.
type fault struct {
	kind     string
	line     int
	gpu      int  // -1: not about one GPU
	allGPUs  bool // gpu: all
	from, to int  // the pair's engine and memory side; -1: not about a pair
	both     bool
	allPairs bool

	engine    engine
	offset    uint64
	bit       uint
	firstOnly bool
	factor    float64
	when      when
	signal    syscall.Signal
	code      int32  // error, return
	prefix    string // after
	call      string // NVML method, as nvmlCall names it
	limit     int
	pid       int
	links     []int
	remote    int // -1: none
	idle      pcieLink
	loaded    pcieLink
	size      uint64
	uuid      *string
	serial    *string
	busID     *string
	vbios     *string
	inforom   *string
	state     string
	status    int32
	health    string
	action    string
	mode      string
	watts     int
	completed int
	pending   bool
	broken    bool // remap: failed

	counter     string // link-errors: replay, recovery, crc
	pcie        string // link-errors: correctable, uncorrectable
	rise        uint64
	text        string // xid
	beforeRun   bool   // xid
	reason      string // throttle
	temperature *int   // throttle, in degrees Celsius

	uncorrected     uint64
	correctedPerGiB float64
}

// when says in which samples a slow fault shows.
type when struct {
	kind   string // always, bidirectional, concurrent, sample
	sample int
}

// kind says which keys a kind of fault has and which it needs.
type kind struct {
	scope   scope
	needs   string // space-separated keys
	may     string // likewise
	anyOf   string // at least one of these
	once    bool   // a second one for the same GPU contradicts it
	engines bool   // has the key engine
}

type scope uint8

const (
	wholeNode scope = iota
	oneGPU
	onePair
	gpuOrPair
	gpuOrAll
)

var kinds = map[string]kind{
	"no-access":            {scope: onePair},
	"enable-fails":         {scope: onePair, needs: "error"},
	"too-many-peers":       {scope: wholeNode, needs: "limit", may: "both", once: true},
	"leaky-access":         {scope: onePair},
	"bad-error":            {scope: onePair, needs: "return"},
	"stale":                {scope: onePair, may: "offset first-only", engines: true},
	"corrupt":              {scope: gpuOrPair, may: "offset bit", engines: true},
	"private-mirror":       {scope: onePair},
	"lost-update":          {scope: onePair},
	"reordered":            {scope: onePair},
	"invisible-until-exit": {scope: onePair},
	"no-progress":          {scope: onePair},
	"slow":                 {scope: gpuOrPair, needs: "factor", may: "when", engines: true},
	"slow-latency":         {scope: onePair, needs: "factor"},
	"staged-faster":        {scope: onePair, needs: "factor"},
	"hang":                 {scope: gpuOrPair, engines: true},
	"crash":                {scope: gpuOrPair, needs: "signal", engines: true},
	"illegal-address":      {scope: onePair, engines: true},
	"cuda-init":            {scope: wholeNode, needs: "error", once: true},
	"context":              {scope: oneGPU, needs: "error", once: true},
	"missing":              {scope: oneGPU, once: true},
	"lost":                 {scope: oneGPU, may: "after", once: true},
	"nvml-error":           {scope: oneGPU, needs: "call return"},
	"nvml-hang":            {scope: oneGPU, needs: "call"},
	"identity":             {scope: oneGPU, anyOf: "uuid serial bus-id", once: true},
	"links-down":           {scope: oneGPU, needs: "links"},
	"wrong-peer":           {scope: oneGPU, needs: "link remote"},
	"link-errors":          {scope: oneGPU, needs: "rise", may: "link counter pcie", anyOf: "counter pcie"},
	"pcie-link":            {scope: oneGPU, anyOf: "idle loaded", once: true},
	"bar1":                 {scope: oneGPU, needs: "size", once: true},
	"xid":                  {scope: oneGPU, needs: "code", may: "text during before-run"},
	"ecc":                  {scope: oneGPU, anyOf: "uncorrected corrected-per-gib", once: true},
	"remap":                {scope: oneGPU, anyOf: "completed pending failed", once: true},
	"recovery-action":      {scope: oneGPU, needs: "action", once: true},
	"fabric":               {scope: gpuOrAll, anyOf: "state status health", once: true},
	"throttle":             {scope: oneGPU, anyOf: "reason temperature"},
	"wrong-result":         {scope: oneGPU},
	"busy":                 {scope: oneGPU, needs: "pid"},
	"firmware":             {scope: oneGPU, anyOf: "vbios inforom", once: true},
	"mig":                  {scope: oneGPU, once: true},
	"compute-mode":         {scope: oneGPU, needs: "mode", once: true},
	"persistence-off":      {scope: oneGPU, once: true},
	"power-limit":          {scope: oneGPU, needs: "watts", once: true},
	"cc-mode":              {scope: oneGPU, needs: "mode", once: true},
	"ecc-off":              {scope: oneGPU, once: true},
}

func kindNames() string {
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// fault reads one entry of faults.
func (r *reader) fault(f *File, index int, n ast.Node) {
	name, k := "", kind{}
	for _, pair := range r.pairs(n, unit(index, "")) {
		if key, ok := pair.Key.(*ast.StringNode); ok && key.Value == "kind" {
			name = r.text(pair.Value, "the kind of "+unit(index, ""))
			var known bool
			if k, known = kinds[name]; !known {
				r.fail(pair.Value, "there is no fault kind %s; known are %s", quote(name), kindNames())
			}
		}
	}
	if r.failed() {
		return
	}
	what := unit(index, name)
	if name == "" {
		r.fail(n, "%s lacks the key kind; known are %s", what, kindNames())
		return
	}
	ft := fault{kind: name, line: n.GetToken().Position.Line, gpu: -1, from: -1, to: -1, remote: -1, factor: 1, when: when{kind: "always"}, engine: anyEngine}
	fields := []field{{"kind", func(ast.Node) {}}}
	for _, key := range k.keys() {
		fields = append(fields, field{key, faultKeys[key].bind(r, f, &ft, what+"."+key)})
	}
	at := r.mapping(n, what, fields...)
	if r.failed() {
		return
	}
	r.scope(k, &ft, n, what, at)
	r.require(n, what, at, strings.Fields(k.needs)...)
	if some := strings.Fields(k.anyOf); len(some) > 0 && !slices.ContainsFunc(some, func(key string) bool { return at[key] != nil }) {
		r.fail(n, "%s needs at least one of %s", what, strings.Join(some, ", "))
	}
	if !r.failed() {
		r.contradictions(f, &ft, n, what, at)
	}
	f.faults = append(f.faults, ft)
}

// keys are those that a kind may have beside kind.
func (k kind) keys() []string {
	var keys []string
	switch k.scope {
	case oneGPU, gpuOrAll:
		keys = []string{"gpu"}
	case onePair:
		keys = []string{"pair", "both"}
	case gpuOrPair:
		keys = []string{"pair", "both", "gpu"}
	case wholeNode:
	}
	if k.engines {
		keys = append(keys, "engine")
	}
	for _, more := range []string{k.needs, k.may, k.anyOf} {
		for _, key := range strings.Fields(more) {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// scope complains where a fault does not say, or says twice, what it is about.
func (r *reader) scope(k kind, ft *fault, n ast.Node, what string, at map[string]ast.Node) {
	switch k.scope {
	case oneGPU, gpuOrAll:
		r.require(n, what, at, "gpu")
		if ft.allGPUs && k.scope == oneGPU {
			r.fail(at["gpu"], "%s.gpu must be one GPU's number, found %s", what, found(at["gpu"]))
		}
	case onePair:
		r.require(n, what, at, "pair")
	case gpuOrPair:
		switch {
		case at["gpu"] == nil && at["pair"] == nil:
			r.fail(n, "%s needs gpu or pair", what)
		case at["gpu"] != nil && at["pair"] != nil:
			r.fail(at["gpu"], "%s has both gpu and pair; expected one of them", what)
		case at["both"] != nil && at["pair"] == nil:
			r.fail(at["both"], "%s.both belongs to a pair", what)
		case ft.allGPUs:
			r.fail(at["gpu"], "%s.gpu must be one GPU's number, found %s", what, found(at["gpu"]))
		}
	case wholeNode:
	}
}

// contradictions complains about what cannot be true of one node.
func (r *reader) contradictions(f *File, ft *fault, n ast.Node, what string, at map[string]ast.Node) {
	for _, earlier := range f.faults {
		if kinds[ft.kind].once && earlier.kind == ft.kind && (earlier.gpu == ft.gpu || earlier.allGPUs || ft.allGPUs) {
			r.fail(n, "%s says again what the fault on line %d says", what, earlier.line)
		}
	}
	linked := f.nvlink != nil
	switch ft.kind {
	case "links-down", "wrong-peer", "link-errors":
		switch {
		case ft.kind == "link-errors" && at["pcie"] != nil:
			if at["link"] != nil || at["counter"] != nil {
				r.fail(at["pcie"], "%s has both pcie and an NVLink's link or counter; expected one of them", what)
			}
			return
		case ft.kind == "link-errors" && at["link"] == nil:
			r.fail(n, "%s: counter needs link, the NVLink whose counter it is", what)
			return
		case !linked:
			r.fail(n, "%s: this node has no NVLink", what)
			return
		}
		place := at["links"]
		if place == nil {
			place = at["link"]
		}
		for _, l := range ft.links {
			if most := f.linkCount(ft.gpu); l >= most {
				r.fail(place, "%s: GPU %d has %d NVLinks, numbered from 0, and no link %d", what, ft.gpu, most, l)
				return
			}
		}
	case "fabric":
		if (ft.status != 0 || ft.health != "") && at["state"] != nil && ft.state != "completed" {
			r.fail(at["state"], "%s: status and health are known once the state is completed, found %s", what, ft.state)
		}
	case "mig":
		if f.product.busBits != 0 && f.product.major < 8 {
			r.fail(n, "%s: %s has no MIG mode", what, f.product.model)
		}
	case "ecc-off", "ecc":
		if f.product.busBits != 0 && f.product.ecc == eccNone {
			r.fail(n, "%s: %s has no ECC mode", what, f.product.model)
		}
	}
}

// linkCount is how many NVLinks a GPU has.
func (f *File) linkCount(gpu int) int {
	if f.nvlink == nil {
		return 0
	}
	n := f.nvlink.switched
	for _, p := range f.nvlink.pairs {
		if p.a == gpu || p.b == gpu {
			n += p.links
		}
	}
	return n
}

var signals = map[string]syscall.Signal{
	"SEGV": syscall.SIGSEGV, "BUS": syscall.SIGBUS, "ABRT": syscall.SIGABRT, "ILL": syscall.SIGILL,
	"FPE": syscall.SIGFPE, "KILL": syscall.SIGKILL, "TERM": syscall.SIGTERM, "INT": syscall.SIGINT,
	"QUIT": syscall.SIGQUIT, "TRAP": syscall.SIGTRAP, "HUP": syscall.SIGHUP,
}

// signal reads SEGV or SIGSEGV.
func (r *reader) signal(n ast.Node, what string) syscall.Signal {
	s, ok := signals[strings.TrimPrefix(r.scalar(n, what), "SIG")]
	if !ok {
		r.fail(n, "%s must be a signal such as SEGV, BUS, ABRT or KILL, found %s", what, found(n))
	}
	return s
}

// when reads always, bidirectional, concurrent or "sample: N".
func (r *reader) when(n ast.Node, what string) when {
	if m, ok := n.(*ast.MappingNode); ok { // sample: 2 without quotes
		w := when{kind: "sample"}
		at := r.mapping(m, what, field{"sample", func(n ast.Node) { w.sample = int(r.integer(n, what+".sample", 0, 1<<20)) }})
		r.require(m, what, at, "sample")
		return w
	}
	text := r.scalar(n, what)
	if number, ok := strings.CutPrefix(text, "sample:"); ok {
		if i, err := strconv.Atoi(strings.TrimSpace(number)); err == nil && i >= 0 {
			return when{"sample", i}
		}
	}
	if text == "always" || text == "bidirectional" || text == "concurrent" {
		return when{kind: text}
	}
	r.fail(n, "%s must be always, bidirectional, concurrent or \"sample: N\", found %s", what, found(n))
	return when{}
}
