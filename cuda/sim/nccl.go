package sim

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/peerproof/peerproof/cuda"
)

// Results of NCCL, from nccl.h.
const (
	ncclSuccess         cuda.NCCLResult = 0
	ncclUnhandledCUDA   cuda.NCCLResult = 1
	ncclInvalidArgument cuda.NCCLResult = 4
	ncclInvalidUsage    cuda.NCCLResult = 5
)

var ncclTexts = map[cuda.NCCLResult]string{
	ncclSuccess: "no error", ncclUnhandledCUDA: "unhandled cuda error (simulated)",
	ncclInvalidArgument: "invalid argument", ncclInvalidUsage: "invalid usage",
}

// simulatedNCCL is the version that the library names: 2.28.3.
const simulatedNCCL = 22803

// clique are the communicators that were made together; they are its ranks.
type clique struct {
	comms  []*communicator
	routes []route
	// open are collectives that not all ranks have come to, in their order;
	// first is the number of the first of them.
	open  []*collective
	first int
	// sends and receives are those without their other half, by ranks.
	sends, receives map[[2]int][]*part
}

// communicator is a rank of a clique.
type communicator struct {
	clique *clique
	rank   int
	gpu    *gpu
	calls  int // collectives so far
}

// openNCCL is cuda.Bundle.OpenNCCL.
func (p *process) openNCCL() (*cuda.NCCL, error) {
	if !p.file.env.nccl || p.file.driver.none() {
		return nil, fmt.Errorf("%w: dlopen: libnccl.so.2: cannot open shared object file: No such file or directory", cuda.ErrNoNCCL)
	}
	return &cuda.NCCL{
		GetVersion: func(version *int32) cuda.NCCLResult {
			*version = simulatedNCCL
			return ncclSuccess
		},
		GetErrorString: func(code cuda.NCCLResult) *byte {
			text, ok := ncclTexts[code]
			if !ok {
				text = "unknown result code"
			}
			return cString(text)
		},
		CommInitAll: p.commInitAll,
		CommDestroy: p.commDestroy,
		AllReduce: func(send, recv cuda.DevicePtr, count uintptr, kind cuda.NCCLType, op cuda.NCCLOp, comm, s uintptr) cuda.NCCLResult {
			return p.collect(request{what: allReduce, send: send, recv: recv, count: uint64(count), kind: kind, op: op}, comm, s)
		},
		AllGather: func(send, recv cuda.DevicePtr, count uintptr, kind cuda.NCCLType, comm, s uintptr) cuda.NCCLResult {
			return p.collect(request{what: allGather, send: send, recv: recv, count: uint64(count), kind: kind}, comm, s)
		},
		ReduceScatter: func(send, recv cuda.DevicePtr, count uintptr, kind cuda.NCCLType, op cuda.NCCLOp, comm, s uintptr) cuda.NCCLResult {
			return p.collect(request{what: reduceScatter, send: send, recv: recv, count: uint64(count), kind: kind, op: op}, comm, s)
		},
		Send: func(send cuda.DevicePtr, count uintptr, kind cuda.NCCLType, peer int32, comm, s uintptr) cuda.NCCLResult {
			return p.collect(request{what: sending, send: send, count: uint64(count), kind: kind, peer: int(peer)}, comm, s)
		},
		Recv: func(recv cuda.DevicePtr, count uintptr, kind cuda.NCCLType, peer int32, comm, s uintptr) cuda.NCCLResult {
			return p.collect(request{what: receiving, recv: recv, count: uint64(count), kind: kind, peer: int(peer)}, comm, s)
		},
		GroupStart: p.groupStart,
		GroupEnd:   p.groupEnd,
	}, nil
}

// ncclEnviron are NCCL's variables of this process, by which the simulated
// library goes as the real one does.
func ncclEnviron() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return !strings.HasPrefix(v, "NCCL_") })
}

func (p *process) commInitAll(comms *uintptr, count int32, ordinals *int32) cuda.NCCLResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.sticky != cuda.Success || !p.initialised:
		return ncclUnhandledCUDA
	case comms == nil || count < 1 || int(count) > len(p.ordinals):
		return ncclInvalidArgument
	}
	if p.noP2P == nil {
		disabled := os.Getenv("NCCL_P2P_DISABLE") == "1"
		p.noP2P = &disabled
	}
	c := &clique{sends: map[[2]int][]*part{}, receives: map[[2]int][]*part{}}
	for rank := range int(count) {
		ordinal := int32(rank)
		if ordinals != nil {
			ordinal = unsafe.Slice(ordinals, count)[rank]
		}
		if ordinal < 0 || int(ordinal) >= len(p.ordinals) {
			return ncclInvalidArgument
		}
		g := p.ordinals[ordinal]
		switch {
		case g.lost:
			return ncclUnhandledCUDA
		case slices.ContainsFunc(c.comms, func(o *communicator) bool { return o.gpu == g }):
			return ncclInvalidUsage // two ranks on one GPU
		}
		c.comms = append(c.comms, &communicator{clique: c, rank: rank, gpu: g})
	}
	c.routes = p.routes(c.comms)
	for rank, comm := range c.comms {
		unsafe.Slice(comms, count)[rank] = p.newHandle(comm)
	}
	return ncclSuccess
}

func (p *process) commDestroy(handle uintptr) cuda.NCCLResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := object[*communicator](p, handle); !ok {
		return ncclInvalidArgument
	}
	delete(p.handles, handle)
	return ncclSuccess
}

// Kinds of request.
type verb uint8

const (
	allReduce verb = iota
	allGather
	reduceScatter
	sending
	receiving
)

// request is one call to a communicator.
type request struct {
	what       verb
	send, recv cuda.DevicePtr
	count      uint64
	kind       cuda.NCCLType
	op         cuda.NCCLOp
	peer       int
}

// part is a request of a rank on a stream, with the memory that it is about.
type part struct {
	request
	comm       *communicator
	stream     *stream
	send, recv span
	gang       *gang
}

// gang is what one rank's stream has to do at once: one request, or all of a
// group. It holds the stream until every part of it, and of the gangs that those
// are joined to, has come.
type gang struct {
	p       *process
	parts   []*part
	missing int     // parts whose partners have not all come
	joined  []*gang // through matched parts
	matched []*collective
}

// alone gives a collective up in a process that has met a fault. In any other,
// waiting for one that not all ranks take part in has no end.
func (g *gang) alone() { g.p.release(g.parts[0].stream) }

func (g *gang) patience() time.Duration { return math.MaxInt64 }

func (p *process) groupStart() cuda.NCCLResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := syscall.Gettid()
	if p.groups == nil {
		p.groups = map[int]*group{}
	}
	if p.groups[id] == nil {
		p.groups[id] = &group{}
	}
	p.groups[id].depth++
	return ncclSuccess
}

// group is what a thread asks for between a GroupStart and its GroupEnd.
type group struct {
	depth int
	parts []*part
}

func (p *process) groupEnd() cuda.NCCLResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := syscall.Gettid()
	g := p.groups[id]
	if g == nil {
		return ncclInvalidUsage
	}
	if g.depth--; g.depth > 0 {
		return ncclSuccess
	}
	delete(p.groups, id)
	p.submit(g.parts)
	return ncclSuccess
}

// collect checks a request and queues it, or keeps it for the end of its
// thread's group.
func (p *process) collect(q request, handle, onStream uintptr) cuda.NCCLResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	comm, ok := object[*communicator](p, handle)
	size := q.kind.Size()
	switch {
	case p.sticky != cuda.Success:
		return ncclUnhandledCUDA
	case !ok, size == 0, q.op != cuda.NCCLSum, q.count > 1<<windowBits:
		return ncclInvalidArgument
	case (q.what == sending || q.what == receiving) && (q.peer < 0 || q.peer >= len(comm.clique.comms)):
		return ncclInvalidArgument
	case comm.gpu.lost:
		return ncclUnhandledCUDA
	}
	t := &part{request: q, comm: comm}
	if onStream == 0 && comm.gpu.primary != nil {
		t.stream = comm.gpu.primary.null
	} else if s, ok := object[*stream](p, onStream); ok {
		t.stream = s
	}
	if t.stream == nil || t.stream.context.gpu != comm.gpu || t.stream.capture != nil {
		return ncclInvalidArgument
	}
	if q.count == 0 {
		return ncclSuccess
	}
	sends, recvs := q.count, q.count
	switch n := uint64(len(comm.clique.comms)); q.what {
	case allGather:
		recvs *= n
	case reduceScatter:
		sends *= n
	case sending:
		recvs = 0
	case receiving:
		sends = 0
	case allReduce:
	}
	for _, end := range []struct {
		ptr   cuda.DevicePtr
		count uint64
		into  *span
	}{{q.send, sends, &t.send}, {q.recv, recvs, &t.recv}} {
		if end.count == 0 {
			continue
		}
		if *end.into, ok = p.find(end.ptr, end.count*size); !ok || uint64(end.ptr)%size != 0 {
			return ncclInvalidArgument
		}
	}
	if g := p.groups[syscall.Gettid()]; g != nil {
		g.parts = append(g.parts, t)
	} else {
		p.submit([]*part{t})
	}
	return ncclSuccess
}

// submit queues parts that were asked for together, a gang a stream.
func (p *process) submit(parts []*part) {
	var gangs []*gang
	for _, t := range parts {
		i := slices.IndexFunc(gangs, func(g *gang) bool { return g.parts[0].stream == t.stream })
		if i < 0 {
			gangs = append(gangs, &gang{p: p})
			i = len(gangs) - 1
		}
		t.gang = gangs[i]
		gangs[i].parts = append(gangs[i].parts, t)
	}
	for _, g := range gangs {
		g.missing = len(g.parts)
		p.do(g.parts[0].stream, func(s *stream) {
			p.hold(s, g)
			for _, t := range g.parts {
				p.match(t)
			}
		})
	}
}
