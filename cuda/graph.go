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
// copies, memsets, kernels and events may be queued; a wait fails. What record
// returns ends the capture and is returned. The error is Unavailable where the
// driver has no graphs.
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
	recorded := record()
	// The stream stays in capture until it is told to end it, whatever happened.
	var graph uintptr
	if err := s.do("cuStreamEndCapture", func() Result { return api.StreamEndCapture(s.handle, &graph) }); err != nil {
		return nil, errors.Join(recorded, err)
	}
	g := &Graph{context: s.context}
	err := recorded
	if err == nil {
		err = s.do("cuGraphInstantiate", func() Result { return api.GraphInstantiate(&g.exec, graph, 0) })
	}
	// What can be launched does not need its pattern.
	if destroyed := s.do("cuGraphDestroy", func() Result { return api.GraphDestroy(graph) }); destroyed != nil || err != nil {
		return nil, errors.Join(err, destroyed, g.Close())
	}
	return g, nil
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
