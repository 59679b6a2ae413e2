package runner

import (
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/peerproof/peerproof/cuda"
	"github.com/peerproof/peerproof/fixtures"
	"github.com/peerproof/peerproof/fixtures/topology"
)

// taskMonitor is the task of the child that holds NVML's events for as long as
// the run lasts: the children that run specs come and go.
const taskMonitor = "monitor"

// How the monitor waits.
const (
	eventWait     = time.Second // for one event
	failuresLimit = 10          // so many waits in a row that fail end the watch
)

// eventWatch is NVML's events of the node's GPUs.
type eventWatch struct {
	set     nvml.EventSet
	devices []nvml.Device
	busIDs  []string // of devices
}

// watchEvents starts NVML and registers for the Xids of every GPU that NVML
// lists and that answers; each tells how that ended.
func watchEvents(lib nvml.Interface, node *topology.Node, tell func(busID string, c topology.Call)) (*eventWatch, error) {
	if ret := lib.Init(); ret != nvml.SUCCESS {
		return nil, fmt.Errorf("nvmlInit_v2: %w", ret)
	}
	set, ret := lib.EventSetCreate()
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("nvmlEventSetCreate: %w", ret)
	}
	w := &eventWatch{set: set}
	for i := range node.GPUs {
		if g := &node.GPUs[i]; g.NVMLIndex >= 0 && g.BusID != "" && g.Hung == "" {
			tell(g.BusID, w.register(lib, g.BusID))
		}
	}
	return w, nil
}

func (w *eventWatch) register(lib nvml.Interface, busID string) topology.Call {
	const get, register = "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceRegisterEvents"
	dev, ret := lib.DeviceGetHandleByPciBusId(busID)
	if ret != nvml.SUCCESS {
		return topology.Call{Op: get, Code: int(ret), Error: ret.Error()}
	}
	if ret = dev.RegisterEvents(nvml.EventTypeXidCriticalError, w.set); ret != nvml.SUCCESS {
		return topology.Call{Op: register, Code: int(ret), Error: ret.Error()}
	}
	w.devices, w.busIDs = append(w.devices, dev), append(w.busIDs, busID)
	return topology.Call{Op: register}
}

// next waits at most so long for an Xid; ok is false where none came. An error
// other than that is NVML's.
func (w *eventWatch) next(wait time.Duration) (x topology.Xid, ok bool, err error) {
	data, ret := w.set.Wait(uint32(wait.Milliseconds()))
	switch {
	case ret == nvml.ERROR_TIMEOUT:
		return topology.Xid{}, false, nil
	case ret != nvml.SUCCESS:
		return topology.Xid{}, false, fmt.Errorf("nvmlEventSetWait_v2: %w", ret)
	case data.EventType != nvml.EventTypeXidCriticalError:
		return topology.Xid{}, false, nil
	}
	return topology.Xid{BusID: w.busID(data.Device), Code: int(data.EventData), Source: topology.FromNVML}, true, nil
}

// busID is that of the GPU that an event is about, which may be lost by now.
func (w *eventWatch) busID(of nvml.Device) string {
	for i, dev := range w.devices {
		if dev == of {
			return w.busIDs[i]
		}
	}
	for i, dev := range w.devices { // the same device by another handle
		if of == nil {
			break
		}
		a, ret := of.GetUUID()
		if b, other := dev.GetUUID(); ret == nvml.SUCCESS && other == nvml.SUCCESS && a == b {
			return w.busIDs[i]
		}
	}
	return ""
}

// monitor watches NVML's events until the parent ends the process.
func (w *worker) monitor() error {
	node := &topology.Node{}
	if err := w.in.Decode(node); err != nil {
		return fmt.Errorf("read inventory: %w", err)
	}
	bundle, err := w.task.bundle(fixtures.Default, nil)
	if err != nil {
		return err
	}
	events, err := watchEvents(bundle.NVML, node, w.tellSource)
	if err != nil {
		return err
	}
	w.say(message{Kind: msgReady, Private: bundle.Private})
	w.flush()
	for failures := 0; ; {
		x, ok, err := events.next(eventWait)
		switch {
		case err == nil:
			failures = 0
		case failures == failuresLimit:
			return err
		default: // a GPU that is lost fails the wait for all others too
			failures++
			time.Sleep(eventWait)
		}
		if ok {
			w.tellXid(x)
		}
	}
}

// tellSource says whether events of a GPU are watched.
func (w *worker) tellSource(busID string, c topology.Call) {
	w.say(message{Kind: msgSource, Text: busID, Call: &c})
	w.flush()
}

// tellXid says that an Xid was seen.
func (w *worker) tellXid(x topology.Xid) {
	w.say(message{Kind: msgXid, Xid: &x})
	w.flush()
}

// selfWatch is what a process sees of its own errors where its bundle is
// private: neither the monitor nor the parent shares its kernel log, so the
// process watches itself and tells the parent, before each spec has ended.
type selfWatch struct {
	worker *worker
	events *eventWatch // nil: there are none
	log    *logWatch
	idle   func() bool // the log has been read to its end
}

// selfPatience is how long a process waits for NVML to take it as a watcher of
// its own. A call that hangs is the monitor's trouble, and no spec's.
const selfPatience = time.Second

func (w *worker) watchSelf(bundle *cuda.Bundle, node *topology.Node) *selfWatch {
	if !bundle.Private {
		return nil
	}
	s := &selfWatch{worker: w, idle: func() bool { return true }}
	watched := make(chan *eventWatch, 1)
	go func() {
		events, _ := watchEvents(bundle.NVML, node, func(string, topology.Call) {}) // the monitor says what is wrong with it
		watched <- events
	}()
	select {
	case s.events = <-watched:
	case <-time.After(selfPatience):
	}
	var err error
	if s.log, err = watchLog(bundle.Host); err != nil {
		return s
	}
	if r, ok := s.log.reader.(interface{ Idle() bool }); ok {
		s.idle = r.Idle
	}
	return s
}

// catchUp tells the parent what has been seen so far.
func (s *selfWatch) catchUp() {
	if s == nil {
		return
	}
	for s.events != nil {
		x, ok, err := s.events.next(0)
		if !ok || err != nil {
			break
		}
		s.worker.tellXid(x)
	}
	for {
		select {
		case x := <-s.log.seen():
			s.worker.tellXid(x)
		default:
			if s.idle() {
				return
			}
			time.Sleep(100 * time.Microsecond)
		}
	}
}
