package cuda

import (
	"errors"
	"fmt"
)

// Graph is work that was recorded once and can be queued as a whole.
type Graph struct {
	context *Context
	exec    uintptr // CUgraphExec
}

// Capture records what record queues on the stream, without running it. Only
// copies, memsets, kernels and events may be queued; a wait fails, and so does
// CopyPeer: its call cannot be captured (900, seen with driver 580.159.04),
// CopyDtoD between two devices can. An error of
// record is returned. The error is Unavailable where the driver has no graphs.
func (s *Stream) Capture(record func() error) (*Graph, error) {
	const (
		op      = "cuStreamBeginCapture"
		relaxed = 2 // CU_STREAM_CAPTURE_MODE_RELAXED: no call of other threads is forbidden
	)
	api := s.context.api
	if err := need(op, api.StreamBeginCapture != nil, api.StreamEndCapture != nil, api.GraphInstantiate != nil,
		api.GraphLaunch != nil, api.GraphExecDestroy != nil, api.GraphDestroy != nil); err != nil {
		return nil, err
	}
	if err := s.do(op, func() Result { return api.StreamBeginCapture(s.handle, relaxed) }); err != nil {
		return nil, err
	}
	graph, err := s.record(record)
	g := &Graph{context: s.context}
	if err == nil {
		err = s.do("cuGraphInstantiate", func() Result { return api.GraphInstantiate(&g.exec, graph, 0) })
	}
	if graph != 0 { // what can be launched is a copy of it
		err = errors.Join(err, s.do("cuGraphDestroy", func() Result { return api.GraphDestroy(graph) }))
	}
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// record ends the capture whatever becomes of record, which may panic: a stream
// left in capture would swallow all that is queued later.
func (s *Stream) record(record func() error) (graph uintptr, err error) {
	defer func() {
		err = errors.Join(err, s.do("cuStreamEndCapture", func() Result {
			return s.context.api.StreamEndCapture(s.handle, &graph)
		}))
	}()
	return 0, record()
}

// Launch queues the graph on a stream of the context that it was captured in.
func (g *Graph) Launch(s *Stream) error {
	const op = "cuGraphLaunch"
	if g.exec == 0 {
		return fmt.Errorf("%s: graph is closed", op)
	}
	return s.do(op, func() Result { return g.context.api.GraphLaunch(g.exec, s.handle) })
}

// Close destroys the graph. Launches that are queued still run.
func (g *Graph) Close() error {
	if g.exec == 0 {
		return nil
	}
	exec := g.exec
	g.exec = 0
	return g.context.do("cuGraphExecDestroy", func() Result { return g.context.api.GraphExecDestroy(exec) })
}
