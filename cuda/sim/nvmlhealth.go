package sim

import (
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// inFlight says that work which nobody has waited for keeps a GPU busy.
func (p *process) inFlight(g *gpu) bool {
	for _, owner := range p.gpus {
		if owner.primary == nil {
			continue
		}
		for _, s := range owner.primary.all() {
			if s.busy && slices.Contains(s.touched, g) {
				return true
			}
		}
	}
	return false
}

// GetMigMode is supported by the products with HBM from Ampere on.
func (d *device) GetMigMode() (int, int, nvml.Return) {
	pr := d.product()
	_, r := perhaps(d, "GetMigMode", d.g.mig || pr.major >= 8 && pr.busBits >= 3072, 0)
	if r == nvml.SUCCESS && d.g.mig {
		return nvml.DEVICE_MIG_ENABLE, nvml.DEVICE_MIG_ENABLE, r
	}
	return nvml.DEVICE_MIG_DISABLE, nvml.DEVICE_MIG_DISABLE, r
}

func (d *device) eccMode() nvml.EnableState {
	if d.product().ecc == eccOn && d.g.fault("ecc-off") == nil {
		return nvml.FEATURE_ENABLED
	}
	return nvml.FEATURE_DISABLED
}

func (d *device) GetEccMode() (nvml.EnableState, nvml.EnableState, nvml.Return) {
	mode, r := perhaps(d, "GetEccMode", d.product().ecc != eccNone, d.eccMode())
	return mode, mode, r
}

func (d *device) GetDefaultEccMode() (nvml.EnableState, nvml.Return) {
	mode := nvml.FEATURE_DISABLED
	if d.product().ecc == eccOn {
		mode = nvml.FEATURE_ENABLED
	}
	return perhaps(d, "GetDefaultEccMode", d.product().ecc != eccNone, mode)
}

// GetTotalEccErrors counts nothing but what an ecc fault says, volatile and
// aggregate alike.
func (d *device) GetTotalEccErrors(kind nvml.MemoryErrorType, _ nvml.EccCounterType) (uint64, nvml.Return) {
	d.p.mu.Lock()
	traffic := float64(d.g.traffic) / (1 << 30)
	d.p.mu.Unlock()
	var n uint64
	if ft := d.g.fault("ecc"); ft != nil {
		n = ft.uncorrected
		if kind == nvml.MEMORY_ERROR_TYPE_CORRECTED {
			n = uint64(ft.correctedPerGiB * traffic)
		}
	}
	return perhaps(d, "GetTotalEccErrors", d.eccMode() == nvml.FEATURE_ENABLED, n)
}

// GetRemappedRows counts completed remaps as those of uncorrectable errors.
func (d *device) GetRemappedRows() (corrected, uncorrected int, pending, failed bool, r nvml.Return) {
	if ft := d.g.fault("remap"); ft != nil {
		uncorrected, pending, failed = ft.completed, ft.pending, ft.broken
	}
	if _, r = perhaps(d, "GetRemappedRows", d.product().major >= 8 && d.product().ecc != eccNone, 0); r != nvml.SUCCESS {
		return 0, 0, false, false, r
	}
	return corrected, uncorrected, pending, failed, r
}

func (d *device) GetPersistenceMode() (nvml.EnableState, nvml.Return) {
	if d.g.fault("persistence-off") != nil {
		return answer(d, "GetPersistenceMode", nvml.FEATURE_DISABLED)
	}
	return answer(d, "GetPersistenceMode", nvml.FEATURE_ENABLED)
}

func (d *device) GetComputeMode() (nvml.ComputeMode, nvml.Return) {
	mode := nvml.COMPUTEMODE_DEFAULT
	if ft := d.g.fault("compute-mode"); ft != nil {
		mode = map[string]nvml.ComputeMode{
			"default": nvml.COMPUTEMODE_DEFAULT, "exclusive-process": nvml.COMPUTEMODE_EXCLUSIVE_PROCESS, "prohibited": nvml.COMPUTEMODE_PROHIBITED,
		}[ft.mode]
	}
	return answer(d, "GetComputeMode", mode)
}

// busyNow says that the GPU has work to do.
func (d *device) busyNow() bool {
	d.p.mu.Lock()
	defer d.p.mu.Unlock()
	return d.p.inFlight(d.g)
}

func (d *device) GetCurrentClocksEventReasons() (uint64, nvml.Return) {
	reasons := uint64(nvml.ClocksEventReasonGpuIdle)
	if d.busyNow() {
		reasons = nvml.ClocksEventReasonNone
	}
	return answer(d, "GetCurrentClocksEventReasons", reasons)
}

func (d *device) GetSupportedClocksEventReasons() (uint64, nvml.Return) {
	return answer(d, "GetSupportedClocksEventReasons", uint64(0x1ff))
}

func (d *device) GetTemperature(sensor nvml.TemperatureSensors) (uint32, nvml.Return) {
	degrees := uint32(33)
	if d.busyNow() {
		degrees = 58
	}
	return perhaps(d, "GetTemperature", sensor == nvml.TEMPERATURE_GPU, degrees)
}

func (d *device) GetTemperatureThreshold(which nvml.TemperatureThresholds) (uint32, nvml.Return) {
	degrees := map[nvml.TemperatureThresholds]uint32{
		nvml.TEMPERATURE_THRESHOLD_SHUTDOWN: 95, nvml.TEMPERATURE_THRESHOLD_SLOWDOWN: 92, nvml.TEMPERATURE_THRESHOLD_GPU_MAX: 87,
	}[which]
	return perhaps(d, "GetTemperatureThreshold", degrees > 0, degrees)
}

// Power is in milliwatts.

func (d *device) GetPowerUsage() (uint32, nvml.Return) {
	milliwatts := d.product().watts * 1000 / 8
	if d.busyNow() {
		milliwatts *= 6
	}
	return answer(d, "GetPowerUsage", milliwatts)
}

func (d *device) powerLimit() uint32 {
	if ft := d.g.fault("power-limit"); ft != nil {
		return uint32(ft.watts) * 1000
	}
	return d.product().watts * 1000
}

func (d *device) GetPowerManagementLimit() (uint32, nvml.Return) {
	return answer(d, "GetPowerManagementLimit", d.powerLimit())
}

func (d *device) GetEnforcedPowerLimit() (uint32, nvml.Return) {
	return answer(d, "GetEnforcedPowerLimit", d.powerLimit())
}

func (d *device) GetPowerManagementDefaultLimit() (uint32, nvml.Return) {
	return answer(d, "GetPowerManagementDefaultLimit", d.product().watts*1000)
}

var recoveryActions = map[string]nvml.DeviceGpuRecoveryAction{
	"reset": nvml.GPU_RECOVERY_ACTION_GPU_RESET, "reboot": nvml.GPU_RECOVERY_ACTION_NODE_REBOOT, "drain": nvml.GPU_RECOVERY_ACTION_DRAIN_P2P,
}

// nvlinkCounters are the ranges of field ids that hold NVLink's error
// counters: CRC of flits and data, replays and recoveries.
var nvlinkCounters = [][2]uint32{
	{nvml.FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L0, nvml.FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL},
	{nvml.FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L6, nvml.FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L11},
}

// GetFieldValues answers each field by itself.
func (d *device) GetFieldValues(values []nvml.FieldValue) nvml.Return {
	if r := d.ask("GetFieldValues"); r != nvml.SUCCESS {
		return r
	}
	for i := range values {
		v := &values[i]
		v.NvmlReturn = uint32(nvml.ERROR_NOT_SUPPORTED)
		give := func(value uint64, kind nvml.ValueType) {
			v.NvmlReturn, v.ValueType, v.Timestamp = uint32(nvml.SUCCESS), uint32(kind), time.Now().UnixMicro()
			binary.LittleEndian.PutUint64(v.Value[:], value)
		}
		linked := len(d.g.links) > 0 && !d.p.file.env.virtualised
		switch {
		case v.FieldId == nvml.FI_DEV_GET_GPU_RECOVERY_ACTION && d.p.file.driver.branch() >= recoveryActionSince:
			action := nvml.GPU_RECOVERY_ACTION_NONE
			if ft := d.g.fault("recovery-action"); ft != nil {
				action = recoveryActions[ft.action]
			}
			give(uint64(action), nvml.VALUE_TYPE_UNSIGNED_INT)
		case v.FieldId == nvml.FI_DEV_NVLINK_LINK_COUNT && linked:
			give(uint64(len(d.g.links)), nvml.VALUE_TYPE_UNSIGNED_INT)
		case linked && slices.ContainsFunc(nvlinkCounters, func(ids [2]uint32) bool { return ids[0] <= v.FieldId && v.FieldId <= ids[1] }):
			give(0, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG)
		}
	}
	return nvml.SUCCESS
}

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
