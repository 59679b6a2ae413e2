package sim

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/peerproof/peerproof/cuda"
)

// History is what a child is told of the run before it.
type History struct {
	// Begun says that the run's specs have begun: the process is none that only
	// discovers the node. What rises during the run has risen then.
	Begun bool
	// Started are the ids of the specs that earlier children of the run
	// started, in order. A fault that one of them triggered is there from the
	// start.
	Started []string
	// Visible are the UUIDs to which the supervisor limits the child, as
	// CUDA_VISIBLE_DEVICES of its own would; nil is no limit. They take the
	// place of the caller's CUDA_VISIBLE_DEVICES, which the node file names.
	Visible []string
}

// Open makes the bundle of one process on the node. Two bundles of one file
// are two processes: they share nothing.
func (f *File) Open(history History) *cuda.Bundle {
	p := &process{
		file: f, layout: newLayout(f), log: &kernelLog{}, begun: history.Begun,
		current: map[int]*context{}, handles: map[uintptr]any{}, seen: map[seenKey]bool{}, samples: map[sampleKey]int{},
	}
	for i := range f.count {
		p.gpus = append(p.gpus, p.newGPU(i))
	}
	for i := range f.faults {
		p.arm(&f.faults[i], history.Started)
	}
	p.join()
	p.show(history.Visible)
	return &cuda.Bundle{OpenCUDA: p.openCUDA, NVML: &library{p: p}, OpenNCCL: p.openNCCL, Annotate: p.annotate, Clock: p.clock, Private: true, Host: p.host()}
}

// process is what the libraries hold in one process, and the node below it.
type process struct {
	file   *File
	layout layout
	log    *kernelLog
	begun  bool // see History

	mu          sync.Mutex // guards everything below
	gpus        []*gpu     // by their number in the file
	ordinals    []*gpu     // by CUDA ordinal
	spec        string     // the spec that Annotate named last
	nvmlUsers   int        // nvmlInit calls that are not shut down
	events      []*eventSet
	initialised bool // cuInit succeeded
	// pending is what a kernel has run into and no call has reported yet;
	// sticky is what every call of the process answers from then on.
	pending cuda.Result
	sticky  cuda.Result
	current map[int]*context // by OS thread
	handles map[uintptr]any  // contexts, streams, events, modules, functions
	handle  uintptr          // the last one given
	pinned  []*allocation    // host memory, by address
	mapped  []*allocation    // memory at addresses of its own, by address
	// reserved are addresses for memory to be mapped at; nextMapped is the first
	// that was never given.
	reserved   []reservation
	nextMapped uint64
	groups     map[int]*group // of NCCL, by OS thread
	noP2P      *bool          // NCCL_P2P_DISABLE, since NCCL first asked
	waiting    []*side        // kernels whose partner is not launched yet
	copies     []copied       // what need not be copied again

	now     float64 // the host's virtual time, in seconds
	queue   []*item // work whose time is not yet known
	samples map[sampleKey]int
	seen    map[seenKey]bool // first-only faults that have shown
}

// gpu is one GPU: what it is, and what is wrong with it.
type gpu struct {
	index  int
	place  place
	uuid   uuid
	serial string
	links  []link
	idle   pcieLink
	loaded pcieLink

	missing   bool
	lost      bool
	lostAfter []string // prefixes of specs after which it is lost
	xids      []*fault // those that it has yet to report
	contextNo cuda.Result
	mig       bool
	memory    *arena
	primary   *context     // nil without one
	claimed   net.Listener // see claim; nil where nothing is claimed
	traffic   uint64       // bytes read or written
	faults    []*fault     // those about this GPU alone
}

// link is one NVLink of a GPU.
type link struct {
	down   bool
	peer   int    // the GPU at the other end; toSwitch or toNobody
	number int    // the link's number there
	bus    string // the other end's bus id where it is a switch on PCI
}

const (
	toSwitch = -1
	toNobody = -2
)

func (p *process) newGPU(i int) *gpu {
	pl := p.layout.gpus[i]
	return &gpu{
		index: i, place: pl, uuid: newUUID(p.file.Name, i), serial: newSerial(p.file.Name, i),
		idle: p.file.pcie, loaded: p.file.pcie,
		memory: newArena(i, p.file.memory),
	}
}

// arm makes a fault show where it sits. Those of operations are looked up when
// one runs.
func (p *process) arm(ft *fault, started []string) {
	switch {
	case ft.allGPUs:
		for _, g := range p.gpus {
			g.faults = append(g.faults, ft)
		}
		return
	case ft.gpu < 0:
		return
	}
	g := p.gpus[ft.gpu]
	g.faults = append(g.faults, ft)
	switch ft.kind {
	case "missing":
		g.missing = true
	case "mig":
		g.mig = true
	case "context":
		g.contextNo = cuda.Result(ft.code)
	case "pcie-link":
		if ft.idle.gen != 0 {
			g.idle = ft.idle
		}
		if ft.loaded.gen != 0 {
			g.loaded = ft.loaded
		}
	case "xid":
		if !ft.beforeRun && !slices.ContainsFunc(started, func(id string) bool { return strings.HasPrefix(id, ft.prefix) }) {
			g.xids = append(g.xids, ft)
		}
	case "lost":
		if ft.prefix == "" || slices.ContainsFunc(started, func(id string) bool { return strings.HasPrefix(id, ft.prefix) }) {
			g.lost = true
		} else {
			g.lostAfter = append(g.lostAfter, ft.prefix)
		}
	}
}

// annotate notes which spec is about to run. A fault that waits for the end of
// the one before shows from now on.
func (p *process) annotate(spec string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spec != "" && spec != p.spec {
		for _, g := range p.gpus {
			for _, prefix := range g.lostAfter {
				g.lost = g.lost || strings.HasPrefix(p.spec, prefix)
			}
		}
	}
	p.spec = spec
	clear(p.samples)
	for _, g := range p.gpus {
		g.xids = slices.DeleteFunc(g.xids, func(ft *fault) bool {
			due := strings.HasPrefix(spec, ft.prefix)
			if due {
				p.xid(g, int(ft.code), ft.text)
			}
			return due
		})
	}
}

// fault finds what is wrong with this GPU, by kind.
func (g *gpu) fault(kind string) *fault {
	for _, ft := range g.faults {
		if ft.kind == kind {
			return ft
		}
	}
	return nil
}

// present are the GPUs that the driver knows here, in PCI order: neither
// missing nor kept from the container.
func (p *process) present() []*gpu {
	var all []*gpu
	for i, g := range p.gpus {
		given := p.file.env.given == nil || slices.Contains(p.file.env.given, i)
		if given && !g.missing {
			all = append(all, g)
		}
	}
	return all
}

// show chooses CUDA's devices as the driver reads CUDA_VISIBLE_DEVICES, with
// CUDA_DEVICE_ORDER=PCI_BUS_ID: numbers or UUIDs, each shortened to what is
// unique, up to the first that names no device or one twice.
func (p *process) show(visible []string) {
	devices := p.present()
	if visible == nil {
		if p.file.env.visible == "" {
			p.ordinals = devices
			return
		}
		visible = strings.Split(p.file.env.visible, ",")
	}
	for _, want := range visible {
		g := named(devices, strings.TrimSpace(want))
		if g == nil || slices.Contains(p.ordinals, g) {
			return
		}
		p.ordinals = append(p.ordinals, g)
	}
}

// named finds a device by number, or by the beginning of its UUID, else of the
// wrong one that NVML names; nil where none or several are meant.
func named(devices []*gpu, want string) *gpu {
	if i, err := strconv.Atoi(want); err == nil {
		if i >= 0 && i < len(devices) {
			return devices[i]
		}
		return nil
	}
	if len(want) <= len("GPU-") {
		return nil
	}
	var right, wrong []*gpu
	for _, g := range devices {
		if strings.HasPrefix(g.uuid.String(), want) {
			right = append(right, g)
		}
		if ft := g.fault("identity"); ft != nil && ft.uuid != nil && strings.HasPrefix(*ft.uuid, want) {
			wrong = append(wrong, g)
		}
	}
	switch {
	case len(right) == 1:
		return right[0]
	case len(right) == 0 && len(wrong) == 1:
		return wrong[0]
	default:
		return nil
	}
}

// openCUDA is cuda.Bundle.OpenCUDA.
func (p *process) openCUDA() (*cuda.API, error) {
	if p.file.driver.none() {
		return nil, errors.New("dlopen: libcuda.so.1: cannot open shared object file: No such file or directory")
	}
	var missing []string
	for _, symbol := range cuda.Symbols() {
		if p.file.lacks(symbol) {
			missing = append(missing, symbol)
		}
	}
	if missing != nil {
		return nil, &cuda.MissingSymbolsError{Symbols: missing}
	}
	api := p.table()
	p.addOptional(api)
	return api, nil
}

// block never returns. The lock is given up first, so that other threads go
// on as they would beside a call that hangs in a real driver.
func (p *process) block() {
	p.mu.Unlock()
	for { // a sleeping goroutine is no deadlock to the Go runtime
		time.Sleep(time.Hour)
	}
}

// crash ends the process by a signal, and never returns: the signal may take
// a moment, or be one that something catches.
func (p *process) crash(signal syscall.Signal) {
	if err := syscall.Kill(syscall.Getpid(), signal); err != nil {
		panic(fmt.Sprintf("kill: %v", err)) // a signal to oneself is always allowed
	}
	p.block()
}
