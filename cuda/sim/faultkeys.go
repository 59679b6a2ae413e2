package sim

import (
	"fmt"
	"math"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/goccy/go-yaml/ast"
)

// engine is a set of what may move data: a copy engine or the SMs of the
// driving GPU, reading or writing the other's memory.
type engine uint8

const (
	ceRead engine = 1 << iota
	ceWrite
	smRead
	smWrite

	ce        = ceRead | ceWrite
	sm        = smRead | smWrite
	anyEngine = ce | sm
)

var engines = map[string]engine{
	"any": anyEngine, "ce": ce, "ce-read": ceRead, "ce-write": ceWrite, "sm": sm, "sm-read": smRead, "sm-write": smWrite,
}

// faultKey reads the value of one key of a fault.
type faultKey func(r *reader, f *File, ft *fault, n ast.Node, what string)

func (k faultKey) bind(r *reader, f *File, ft *fault, what string) func(ast.Node) {
	return func(n ast.Node) { k(r, f, ft, n, what) }
}

// gpuNumber reads the number of one of the node's GPUs.
func (r *reader) gpuNumber(f *File, n ast.Node, what string) int {
	if f.count == 0 {
		r.fail(n, "%s: this node has no GPU", what)
		return 0
	}
	return int(r.integer(n, what, 0, int64(f.count)-1))
}

func textKey(at func(*fault) **string) faultKey {
	return func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		text := r.scalar(n, what)
		*at(ft) = &text
	}
}

func pcieKey(at func(*fault) *pcieLink) faultKey {
	return func(r *reader, f *File, ft *fault, n ast.Node, what string) { *at(ft) = r.pcie(n, what, f.pcie) }
}

var faultKeys = map[string]faultKey{
	"gpu": func(r *reader, f *File, ft *fault, n ast.Node, what string) {
		if s, ok := n.(*ast.StringNode); ok && s.Value == "all" {
			ft.allGPUs = true
			return
		}
		ft.gpu = r.gpuNumber(f, n, what)
	},
	"pair": func(r *reader, f *File, ft *fault, n ast.Node, what string) {
		if s, ok := n.(*ast.StringNode); ok && s.Value == "all" {
			ft.allPairs = true
			return
		}
		list, ok := n.(*ast.SequenceNode)
		if !ok || len(list.Values) != 2 {
			r.fail(n, "%s must be two GPUs such as [0, 1], or all, found %s", what, found(n))
			return
		}
		ft.from, ft.to = r.gpuNumber(f, list.Values[0], what), r.gpuNumber(f, list.Values[1], what)
		if ft.from == ft.to && !r.failed() {
			r.fail(list.Values[1], "%s names GPU %d twice; expected two GPUs such as [0, 1]", what, ft.to)
		}
	},
	"both": func(r *reader, _ *File, ft *fault, n ast.Node, what string) { ft.both = r.boolean(n, what) },
	"engine": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.engine = engines[r.choice(n, what, "any", "ce", "ce-read", "ce-write", "sm", "sm-read", "sm-write")]
	},
	"offset":     func(r *reader, _ *File, ft *fault, n ast.Node, what string) { ft.offset = r.size(n, what) },
	"bit":        func(r *reader, _ *File, ft *fault, n ast.Node, what string) { ft.bit = uint(r.integer(n, what, 0, 7)) },
	"first-only": func(r *reader, _ *File, ft *fault, n ast.Node, what string) { ft.firstOnly = r.boolean(n, what) },
	"factor": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.factor = r.number(n, what, 0.001, 1000)
	},
	"when":   func(r *reader, _ *File, ft *fault, n ast.Node, what string) { ft.when = r.when(n, what) },
	"signal": func(r *reader, _ *File, ft *fault, n ast.Node, what string) { ft.signal = r.signal(n, what) },
	"error": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.code = int32(r.integer(n, what, 1, 9999))
	},
	"return": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		least := int64(1)
		if ft.kind == "bad-error" {
			least = 0 // success where 704 is due is the mildest of wrong answers
		}
		ft.code = int32(r.integer(n, what, least, 9999))
	},
	"limit": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.limit = int(r.integer(n, what, 0, maxGPUs))
	},
	"after": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		if ft.prefix = r.text(n, what); ft.prefix == "" {
			r.fail(n, "%s must be the beginning of a spec's id, such as transfer/copy, found nothing", what)
		}
	},
	"during": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		if ft.prefix = r.text(n, what); ft.prefix == "before-run" {
			ft.prefix, ft.beforeRun = "", true
		}
	},
	"before-run": func(r *reader, _ *File, ft *fault, n ast.Node, what string) { ft.beforeRun = r.boolean(n, what) },
	"call": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		text := r.text(n, what)
		var known bool
		if ft.call, known = nvmlCall(text); !known && !r.failed() {
			r.fail(n, "%s: the simulated NVML has no function %s of a GPU; expected a name such as nvmlDeviceGetMemoryInfo", what, quote(text))
		}
	},
	"pid": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.pid = int(r.integer(n, what, 1, 1<<22))
	},
	"idle": pcieKey(func(ft *fault) *pcieLink { return &ft.idle }), "loaded": pcieKey(func(ft *fault) *pcieLink { return &ft.loaded }),
	"links": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.links = r.integers(n, what, "a link", 0, 63)
		if len(ft.links) == 0 && !r.failed() {
			r.fail(n, "%s names no link", what)
		}
	},
	"link": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.links = []int{int(r.integer(n, what, 0, 63))}
	},
	"remote": func(r *reader, f *File, ft *fault, n ast.Node, what string) {
		if s, ok := n.(*ast.StringNode); ok && s.Value == "none" {
			return
		}
		ft.remote = r.gpuNumber(f, n, what)
	},
	"counter": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.counter = r.choice(n, what, "replay", "recovery", "crc")
	},
	"pcie": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.pcie = r.choice(n, what, "correctable", "uncorrectable")
	},
	"rise": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.rise = uint64(r.integer(n, what, 1, math.MaxInt32))
	},
	"size":    func(r *reader, _ *File, ft *fault, n ast.Node, what string) { ft.size = r.size(n, what) },
	"uuid":    textKey(func(ft *fault) **string { return &ft.uuid }),
	"serial":  textKey(func(ft *fault) **string { return &ft.serial }),
	"bus-id":  textKey(func(ft *fault) **string { return &ft.busID }),
	"vbios":   textKey(func(ft *fault) **string { return &ft.vbios }),
	"inforom": textKey(func(ft *fault) **string { return &ft.inforom }),
	"code": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.code = int32(r.integer(n, what, 1, 9999))
	},
	"text": func(r *reader, _ *File, ft *fault, n ast.Node, what string) { ft.text = r.scalar(n, what) },
	"uncorrected": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.uncorrected = uint64(r.integer(n, what, 0, math.MaxInt32))
	},
	"corrected-per-gib": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.correctedPerGiB = r.number(n, what, 0, 1e9)
	},
	"completed": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.completed = int(r.integer(n, what, 0, 512))
	},
	"pending": func(r *reader, _ *File, ft *fault, n ast.Node, what string) { ft.pending = r.boolean(n, what) },
	"failed":  func(r *reader, _ *File, ft *fault, n ast.Node, what string) { ft.broken = r.boolean(n, what) },
	"action": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.action = r.choice(n, what, "reset", "reboot", "drain")
	},
	"state": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.state = r.choice(n, what, "not-supported", "not-started", "in-progress", "completed")
	},
	"status": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		switch text := r.scalar(n, what); text {
		case "success":
		case "insufficient-resources":
			ft.status = int32(nvml.ERROR_INSUFFICIENT_RESOURCES)
		default:
			if _, ok := n.(*ast.IntegerNode); !ok {
				r.fail(n, "%s must be success, insufficient-resources or a number, found %s", what, found(n))
				return
			}
			ft.status = int32(r.integer(n, what, 0, 9999))
		}
	},
	"health": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.health = r.choice(n, what, "healthy", "unhealthy", "limited-capacity", "not-supported")
	},
	"reason": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.reason = r.choice(n, what, "sw-thermal-slowdown", "hw-slowdown", "hw-thermal-slowdown", "hw-power-brake", "sw-power-cap")
	},
	"temperature": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		degrees := int(r.integer(n, what, -50, 200))
		ft.temperature = &degrees
	},
	"mode": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		if ft.kind == "compute-mode" {
			ft.mode = r.choice(n, what, "default", "exclusive-process", "prohibited")
			return
		}
		ft.mode = r.choice(n, what, "off", "on", "devtools")
	},
	"watts": func(r *reader, _ *File, ft *fault, n ast.Node, what string) {
		ft.watts = int(r.integer(n, what, 1, 10000))
	},
}

// String names a fault for the kernel log and for tests.
func (ft *fault) String() string {
	if ft.gpu >= 0 {
		return fmt.Sprintf("%s of GPU %d", ft.kind, ft.gpu)
	}
	return fmt.Sprintf("%s of pair [%d, %d]", ft.kind, ft.from, ft.to)
}
