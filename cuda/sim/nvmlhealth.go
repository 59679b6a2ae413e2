package sim

import (
	"slices"

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

// confidential is the GPU's mode of confidential computing.
func (g *gpu) confidential() string {
	if ft := g.fault("cc-mode"); ft != nil {
		return ft.mode
	}
	return "off"
}

// GetConfComputeMemSizeInfo is in KiB. Without confidential computing no
// memory is protected.
func (d *device) GetConfComputeMemSizeInfo() (nvml.ConfComputeMemSizeInfo, nvml.Return) {
	sizes := nvml.ConfComputeMemSizeInfo{UnprotectedMemSizeKib: d.product().memory() >> 10}
	if d.g.confidential() != "off" {
		sizes.ProtectedMemSizeKib, sizes.UnprotectedMemSizeKib = sizes.UnprotectedMemSizeKib, 0
	}
	return perhaps(d, "GetConfComputeMemSizeInfo", d.product().major >= 9, sizes)
}

// busyNow says that the GPU has work to do.
func (d *device) busyNow() bool {
	d.p.mu.Lock()
	defer d.p.mu.Unlock()
	return d.p.inFlight(d.g)
}

// clocksEventReasons are NVML's bits for the reasons of a throttle fault.
// Hardware slowdown is the sum of its kinds.
var clocksEventReasons = map[string]uint64{
	"sw-power-cap":        nvml.ClocksEventReasonSwPowerCap,
	"sw-thermal-slowdown": nvml.ClocksEventReasonSwThermalSlowdown,
	"hw-slowdown":         nvml.ClocksThrottleReasonHwSlowdown,
	"hw-thermal-slowdown": nvml.ClocksThrottleReasonHwSlowdown | nvml.ClocksThrottleReasonHwThermalSlowdown,
	"hw-power-brake":      nvml.ClocksThrottleReasonHwSlowdown | nvml.ClocksThrottleReasonHwPowerBrakeSlowdown,
}

// clocksEvents are the reasons for which the clocks are below their highest.
func (d *device) clocksEvents() uint64 {
	if !d.busyNow() {
		return nvml.ClocksEventReasonGpuIdle
	}
	reasons := uint64(nvml.ClocksEventReasonNone)
	for _, ft := range d.g.faults {
		if ft.kind == "throttle" {
			reasons |= clocksEventReasons[ft.reason]
		}
	}
	return reasons
}

func (d *device) GetCurrentClocksEventReasons() (uint64, nvml.Return) {
	return answer(d, "GetCurrentClocksEventReasons", d.clocksEvents())
}

// GetCurrentClocksThrottleReasons is the older name of the same.
func (d *device) GetCurrentClocksThrottleReasons() (uint64, nvml.Return) {
	return answer(d, "GetCurrentClocksThrottleReasons", d.clocksEvents())
}

func (d *device) GetSupportedClocksEventReasons() (uint64, nvml.Return) {
	return answer(d, "GetSupportedClocksEventReasons", uint64(0x1ff))
}

func (d *device) GetTemperature(sensor nvml.TemperatureSensors) (uint32, nvml.Return) {
	degrees := uint32(33)
	if d.busyNow() {
		degrees = 58
		for _, ft := range d.g.faults {
			if ft.kind == "throttle" && ft.temperature != nil {
				degrees = uint32(max(0, *ft.temperature)) // NVML's is unsigned
			}
		}
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
