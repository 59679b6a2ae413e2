package sim

import (
	"os"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// device is one GPU as NVML answers for it. What it does not override is the
// embedded nil interface.
type device struct {
	nvml.Device
	p     *process
	g     *gpu
	index int
}

// deviceMethods are the methods that the simulation answers, each behind the C
// function nvmlDevice… of its name.
var deviceMethods = map[string]bool{}

func init() {
	for _, name := range strings.Fields(`
		GetName GetUUID GetSerial GetPciInfo GetIndex GetMinorNumber GetVbiosVersion GetInforomImageVersion GetBoardPartNumber
		GetMemoryInfo GetBAR1MemoryInfo GetMemoryBusWidth GetMaxClockInfo GetClockInfo GetCudaComputeCapability
		GetCurrPcieLinkGeneration GetCurrPcieLinkWidth GetMaxPcieLinkGeneration GetMaxPcieLinkWidth GetGpuMaxPcieLinkGeneration
		GetPcieReplayCounter GetTopologyCommonAncestor GetP2PStatus GetNvLinkState GetNvLinkVersion GetNvLinkRemotePciInfo
		GetNvLinkRemoteDeviceType GetNvLinkCapability GetGpuFabricInfo GetComputeRunningProcesses GetMigMode GetEccMode
		GetDefaultEccMode GetTotalEccErrors GetRemappedRows GetPersistenceMode GetComputeMode GetNumaNodeId GetVirtualizationMode
		GetCurrentClocksEventReasons GetSupportedClocksEventReasons GetTemperature GetTemperatureThreshold GetPowerUsage
		GetPowerManagementLimit GetPowerManagementDefaultLimit GetEnforcedPowerLimit GetFieldValues GetSupportedEventTypes
		RegisterEvents GetModuleId GetNvLinkErrorCounter GetConfComputeMemSizeInfo GetCurrentClocksThrottleReasons`) {
		deviceMethods[name] = true
	}
}

// ask is what comes before every answer: whether there is one.
func (d *device) ask(method string) nvml.Return {
	d.p.mu.Lock()
	defer d.p.mu.Unlock()
	switch {
	case d.p.nvmlUsers == 0:
		return nvml.ERROR_UNINITIALIZED
	case d.p.file.lacks("nvmlDevice" + method):
		return nvml.ERROR_FUNCTION_NOT_FOUND
	}
	for _, ft := range d.g.faults {
		if ft.kind == "nvml-hang" && ft.call == method {
			d.p.block()
		}
	}
	if d.g.lost {
		return nvml.ERROR_GPU_IS_LOST
	}
	for _, ft := range d.g.faults {
		if ft.kind == "nvml-error" && ft.call == method {
			return nvml.Return(ft.code)
		}
	}
	return nvml.SUCCESS
}

// answer gives a value where there is an answer.
func answer[T any](d *device, method string, value T) (T, nvml.Return) {
	if r := d.ask(method); r != nvml.SUCCESS {
		var none T
		return none, r
	}
	return value, nvml.SUCCESS
}

// perhaps gives a value that the product may not have.
func perhaps[T any](d *device, method string, has bool, value T) (T, nvml.Return) {
	var none T
	if r := d.ask(method); r != nvml.SUCCESS {
		return none, r
	}
	if !has {
		return none, nvml.ERROR_NOT_SUPPORTED
	}
	return value, nvml.SUCCESS
}

// identity gives a value that an identity fault may change; "" is one that
// cannot be read.
func (d *device) identity(method, value string, changed func(*fault) *string) (string, nvml.Return) {
	if ft := d.g.fault("identity"); ft != nil && changed(ft) != nil {
		value = *changed(ft)
	}
	if r := d.ask(method); r != nvml.SUCCESS {
		return "", r
	}
	if value == "" {
		return "", nvml.ERROR_UNKNOWN
	}
	return value, nvml.SUCCESS
}

func (d *device) product() *product { return &d.p.file.product }

func (d *device) GetName() (string, nvml.Return) { return answer(d, "GetName", d.product().model) }
func (d *device) GetIndex() (int, nvml.Return)   { return answer(d, "GetIndex", d.index) }
func (d *device) GetMinorNumber() (int, nvml.Return) {
	return answer(d, "GetMinorNumber", d.g.index)
}
func (d *device) GetModuleId() (int, nvml.Return) { return answer(d, "GetModuleId", d.g.index+1) }

func (d *device) GetUUID() (string, nvml.Return) {
	return d.identity("GetUUID", d.g.uuid.String(), func(ft *fault) *string { return ft.uuid })
}

func (d *device) GetSerial() (string, nvml.Return) {
	if !d.product().serial {
		return perhaps(d, "GetSerial", false, "")
	}
	return d.identity("GetSerial", d.g.serial, func(ft *fault) *string { return ft.serial })
}

func (d *device) GetPciInfo() (nvml.PciInfo, nvml.Return) {
	bus, r := d.identity("GetPciInfo", d.g.place.bus, func(ft *fault) *string { return ft.busID })
	if r != nvml.SUCCESS {
		return nvml.PciInfo{}, r
	}
	info := pciInfo(bus)
	info.Domain, info.Bus = d.g.place.domain, d.g.place.number
	info.PciDeviceId = d.product().device<<16 | 0x10de
	return info, r
}

// pciInfo holds a bus id in both of NVML's forms.
func pciInfo(bus string) (info nvml.PciInfo) {
	put := func(into []int8, text string) {
		for i := range min(len(text), len(into)-1) {
			into[i] = int8(text[i])
		}
	}
	upper := strings.ToUpper(bus)
	put(info.BusIdLegacy[:], upper)
	put(info.BusId[:], "0000"+upper)
	return info
}

// firmware gives a version that a firmware fault may change.
func (d *device) firmware(method, value string, changed func(*fault) *string) (string, nvml.Return) {
	if ft := d.g.fault("firmware"); ft != nil && changed(ft) != nil {
		value = *changed(ft)
	}
	return answer(d, method, value)
}

func (d *device) GetVbiosVersion() (string, nvml.Return) {
	return d.firmware("GetVbiosVersion", d.product().vbios, func(ft *fault) *string { return ft.vbios })
}

func (d *device) GetInforomImageVersion() (string, nvml.Return) {
	return d.firmware("GetInforomImageVersion", d.product().inforom, func(ft *fault) *string { return ft.inforom })
}

func (d *device) GetBoardPartNumber() (string, nvml.Return) {
	return perhaps(d, "GetBoardPartNumber", d.product().serial, "900-00000-0000-000")
}

func (d *device) GetMemoryInfo() (nvml.Memory, nvml.Return) {
	d.p.mu.Lock()
	used := d.g.memory.used
	d.p.mu.Unlock()
	total := d.product().memory()
	return answer(d, "GetMemoryInfo", nvml.Memory{Total: total, Free: total - used, Used: used})
}

func (d *device) GetBAR1MemoryInfo() (nvml.BAR1Memory, nvml.Return) {
	total := d.product().bar1()
	if ft := d.g.fault("bar1"); ft != nil {
		total = ft.size
	}
	used := min(total, 1<<20)
	return answer(d, "GetBAR1MemoryInfo", nvml.BAR1Memory{Bar1Total: total, Bar1Free: total - used, Bar1Used: used})
}

func (d *device) GetMemoryBusWidth() (uint32, nvml.Return) {
	return perhaps(d, "GetMemoryBusWidth", d.product().busBits > 0, d.product().busBits)
}

func (d *device) clock(method string, c nvml.ClockType) (uint32, nvml.Return) {
	switch c {
	case nvml.CLOCK_MEM:
		return perhaps(d, method, d.product().memoryMHz > 0, d.product().memoryMHz)
	case nvml.CLOCK_SM, nvml.CLOCK_GRAPHICS:
		return answer(d, method, d.product().smMHz)
	default:
		return perhaps(d, method, false, uint32(0))
	}
}

func (d *device) GetMaxClockInfo(c nvml.ClockType) (uint32, nvml.Return) {
	return d.clock("GetMaxClockInfo", c)
}

func (d *device) GetClockInfo(c nvml.ClockType) (uint32, nvml.Return) {
	return d.clock("GetClockInfo", c)
}

func (d *device) GetCudaComputeCapability() (int, int, nvml.Return) {
	_, r := answer(d, "GetCudaComputeCapability", 0)
	return d.product().major, d.product().minor, r
}

// link is the PCIe link as it is now: loaded while work is in flight.
func (d *device) link() pcieLink {
	d.p.mu.Lock()
	defer d.p.mu.Unlock()
	if d.p.inFlight(d.g) {
		return d.g.loaded
	}
	return d.g.idle
}

func (d *device) GetCurrPcieLinkGeneration() (int, nvml.Return) {
	return answer(d, "GetCurrPcieLinkGeneration", d.link().gen)
}

func (d *device) GetCurrPcieLinkWidth() (int, nvml.Return) {
	return answer(d, "GetCurrPcieLinkWidth", d.link().width)
}

func (d *device) GetMaxPcieLinkGeneration() (int, nvml.Return) {
	return answer(d, "GetMaxPcieLinkGeneration", d.p.file.pcie.gen)
}

func (d *device) GetMaxPcieLinkWidth() (int, nvml.Return) {
	return answer(d, "GetMaxPcieLinkWidth", d.p.file.pcie.width)
}

func (d *device) GetGpuMaxPcieLinkGeneration() (int, nvml.Return) {
	return answer(d, "GetGpuMaxPcieLinkGeneration", d.p.file.pcie.gen)
}

// GetComputeRunningProcesses lists the processes of busy faults, and this one
// where it has a context.
func (d *device) GetComputeRunningProcesses() ([]nvml.ProcessInfo, nvml.Return) {
	none := ^uint32(0)
	var all []nvml.ProcessInfo
	add := func(pid int, bytes uint64) {
		all = append(all, nvml.ProcessInfo{Pid: uint32(pid), UsedGpuMemory: bytes, GpuInstanceId: none, ComputeInstanceId: none})
	}
	d.p.mu.Lock()
	for _, ft := range d.g.faults {
		if ft.kind == "busy" {
			add(ft.pid, 1<<30)
		}
	}
	if d.g.primary != nil {
		add(os.Getpid(), d.g.memory.used)
	}
	d.p.mu.Unlock()
	return answer(d, "GetComputeRunningProcesses", all)
}

func (d *device) GetNumaNodeId() (int, nvml.Return) {
	return perhaps(d, "GetNumaNodeId", false, 0) // of platforms with coherent memory only
}

func (d *device) GetVirtualizationMode() (nvml.GpuVirtualizationMode, nvml.Return) {
	mode := nvml.GPU_VIRTUALIZATION_MODE_NONE
	if d.p.file.env.virtualised {
		mode = nvml.GPU_VIRTUALIZATION_MODE_PASSTHROUGH
	}
	return answer(d, "GetVirtualizationMode", mode)
}
