package sim

import (
	"slices"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

func (d *device) GetSupportedEventTypes() (uint64, nvml.Return) {
	return answer(d, "GetSupportedEventTypes", uint64(0xff9f))
}

func (d *device) RegisterEvents(mask uint64, set nvml.EventSet) nvml.Return {
	r := d.ask("RegisterEvents")
	s, ok := set.(*eventSet)
	switch {
	case r != nvml.SUCCESS:
		return r
	case !ok:
		return nvml.ERROR_INVALID_ARGUMENT
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.masks[d.g] |= mask
	s.handles[d.g] = d
	return nvml.SUCCESS
}

// eventSet waits for events of the GPUs that are registered with it.
type eventSet struct {
	nvml.EventSet
	p *process

	mu      sync.Mutex // guards masks, handles and queue
	masks   map[*gpu]uint64
	handles map[*gpu]*device
	queue   []nvml.EventData
	more    chan struct{} // holds a token when there may be an event
}

// EventSetCreate makes an empty set.
func (l *library) EventSetCreate() (nvml.EventSet, nvml.Return) {
	if r := l.asked("nvmlEventSetCreate"); r != nvml.SUCCESS {
		return nil, r
	}
	s := &eventSet{p: l.p, masks: map[*gpu]uint64{}, handles: map[*gpu]*device{}, more: make(chan struct{}, 1)}
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	l.p.events = append(l.p.events, s)
	return s, nvml.SUCCESS
}

// report hands an event to whoever waits for it.
func (s *eventSet) report(g *gpu, kind, data uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.masks[g]&kind == 0 {
		return
	}
	none := ^uint32(0)
	s.queue = append(s.queue, nvml.EventData{Device: s.handles[g], EventType: kind, EventData: data, GpuInstanceId: none, ComputeInstanceId: none})
	select {
	case s.more <- struct{}{}:
	default: // whoever waits will look anyway
	}
}

// Wait waits so many milliseconds for an event.
func (s *eventSet) Wait(milliseconds uint32) (nvml.EventData, nvml.Return) {
	timeout := time.NewTimer(time.Duration(milliseconds) * time.Millisecond)
	defer timeout.Stop()
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			first := s.queue[0]
			s.queue = s.queue[1:]
			s.mu.Unlock()
			return first, nvml.SUCCESS
		}
		s.mu.Unlock()
		select {
		case <-s.more:
		case <-timeout.C:
			return nvml.EventData{}, nvml.ERROR_TIMEOUT
		}
	}
}

// Free ends the set.
func (s *eventSet) Free() nvml.Return {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.events = slices.DeleteFunc(s.p.events, func(e *eventSet) bool { return e == s })
	return nvml.SUCCESS
}
