package sim

import (
	"fmt"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// library is NVML of one process. What it does not override is the embedded
// nil interface: calling that is a panic which names the method.
type library struct {
	nvml.Interface
	p *process
}

// Init answers what nvmlInit_v2 does: that there is no library, no driver in
// the kernel, or one of another version than the library's.
func (l *library) Init() nvml.Return {
	p := l.p
	p.mu.Lock()
	defer p.mu.Unlock()
	d := &p.file.driver
	switch {
	case d.none():
		return nvml.ERROR_LIBRARY_NOT_FOUND
	case p.file.lacks("nvmlInit_v2"):
		return nvml.ERROR_FUNCTION_NOT_FOUND
	case len(p.gpus) == 0:
		return nvml.ERROR_DRIVER_NOT_LOADED // the kernel module finds nothing to drive
	case d.kernelModule != d.version:
		return nvml.ERROR_LIB_RM_VERSION_MISMATCH
	}
	p.nvmlUsers++
	return nvml.SUCCESS
}

// Shutdown takes back one Init.
func (l *library) Shutdown() nvml.Return {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	if l.p.nvmlUsers == 0 {
		return nvml.ERROR_UNINITIALIZED
	}
	l.p.nvmlUsers--
	return nvml.SUCCESS
}

// ErrorString is go-nvml's own text: that of the C library is not at hand.
func (l *library) ErrorString(r nvml.Return) string { return r.Error() }

// Extensions gives the library's LookupSymbol.
func (l *library) Extensions() nvml.ExtendedInterface { return l }

// LookupSymbol says which C functions the simulated library has: those that it
// can answer and the driver is not too old for.
func (l *library) LookupSymbol(symbol string) error {
	if l.p.file.driver.none() {
		return fmt.Errorf("libnvidia-ml.so.1: cannot open shared object file: No such file or directory")
	}
	known := librarySymbols[symbol]
	if method, ok := strings.CutPrefix(symbol, "nvmlDevice"); ok {
		known = known || deviceMethods[method] || deviceMethods[unversioned(method)] && versionedSymbols[symbol] ||
			symbol == "nvmlDeviceGetGpuFabricInfoV"
	}
	if !known || l.p.file.lacks(symbol) {
		return fmt.Errorf("libnvidia-ml.so.1: undefined symbol: %s", symbol)
	}
	return nil
}

// librarySymbols are the C functions that are not questions to a device.
var librarySymbols = map[string]bool{
	"nvmlInit": true, "nvmlInit_v2": true, "nvmlInitWithFlags": true, "nvmlShutdown": true, "nvmlErrorString": true,
	"nvmlSystemGetDriverVersion": true, "nvmlSystemGetNVMLVersion": true,
	"nvmlSystemGetCudaDriverVersion": true, "nvmlSystemGetCudaDriverVersion_v2": true,
	"nvmlSystemGetConfComputeState": true, "nvmlDeviceGetCount": true, "nvmlDeviceGetCount_v2": true,
	"nvmlDeviceGetHandleByIndex": true, "nvmlDeviceGetHandleByIndex_v2": true,
	"nvmlDeviceGetHandleByPciBusId": true, "nvmlDeviceGetHandleByPciBusId_v2": true,
	"nvmlDeviceGetHandleByUUID": true,
	"nvmlEventSetCreate":        true, "nvmlEventSetFree": true, "nvmlEventSetWait": true, "nvmlEventSetWait_v2": true,
}

// versionedSymbols are the C functions behind a method whose newest form has a
// version in its name.
var versionedSymbols = map[string]bool{
	"nvmlDeviceGetPciInfo_v2": true, "nvmlDeviceGetPciInfo_v3": true, "nvmlDeviceGetNvLinkRemotePciInfo_v2": true,
	"nvmlDeviceGetComputeRunningProcesses_v2": true, "nvmlDeviceGetComputeRunningProcesses_v3": true,
}

func unversioned(name string) string {
	if i := strings.LastIndex(name, "_v"); i > 0 && strings.Trim(name[i+2:], "0123456789") == "" {
		return name[:i]
	}
	return name
}

// nvmlCall finds the method of a device that a fault's call means: by the C
// function's name, with or without version, or by go-nvml's.
func nvmlCall(name string) (method string, known bool) {
	method = strings.TrimPrefix(strings.TrimPrefix(name, "nvml"), "Device")
	if deviceMethods[method] {
		return method, true
	}
	return unversioned(method), deviceMethods[unversioned(method)]
}

// asked is what the library answers to anything before it was started.
func (l *library) asked(symbol string) nvml.Return {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	switch {
	case l.p.nvmlUsers == 0:
		return nvml.ERROR_UNINITIALIZED
	case l.p.file.lacks(symbol):
		return nvml.ERROR_FUNCTION_NOT_FOUND
	}
	return nvml.SUCCESS
}

// SystemGetDriverVersion is the driver's version.
func (l *library) SystemGetDriverVersion() (string, nvml.Return) {
	return l.p.file.driver.version, l.asked("nvmlSystemGetDriverVersion")
}

// SystemGetNVMLVersion is the driver's version behind CUDA's major one.
func (l *library) SystemGetNVMLVersion() (string, nvml.Return) {
	d := &l.p.file.driver
	return fmt.Sprintf("%d.%s", d.cuda/1000, d.version), l.asked("nvmlSystemGetNVMLVersion")
}

// SystemGetCudaDriverVersion is 13000 for CUDA 13.0.
func (l *library) SystemGetCudaDriverVersion() (int, nvml.Return) {
	return l.p.file.driver.cuda, l.asked("nvmlSystemGetCudaDriverVersion")
}

// SystemGetCudaDriverVersion_v2 is SystemGetCudaDriverVersion.
func (l *library) SystemGetCudaDriverVersion_v2() (int, nvml.Return) {
	return l.SystemGetCudaDriverVersion()
}

// SystemGetConfComputeState is on where a GPU takes part.
func (l *library) SystemGetConfComputeState() (nvml.ConfComputeSystemState, nvml.Return) {
	state := nvml.ConfComputeSystemState{Environment: nvml.CC_SYSTEM_ENVIRONMENT_UNAVAILABLE}
	for _, g := range l.p.present() {
		switch g.confidential() {
		case "on":
			state.CcFeature = nvml.CC_SYSTEM_FEATURE_ENABLED
		case "devtools":
			state.CcFeature, state.DevToolsMode = nvml.CC_SYSTEM_FEATURE_ENABLED, nvml.CC_SYSTEM_DEVTOOLS_MODE_ON
		}
	}
	if state.CcFeature == nvml.CC_SYSTEM_FEATURE_ENABLED {
		state.Environment = nvml.CC_SYSTEM_ENVIRONMENT_PROD
	}
	if r := l.asked("nvmlSystemGetConfComputeState"); r != nvml.SUCCESS {
		return nvml.ConfComputeSystemState{}, r
	}
	return state, nvml.SUCCESS
}

// DeviceGetCount counts the GPUs that the driver knows here, lost ones too.
func (l *library) DeviceGetCount() (int, nvml.Return) {
	return len(l.p.present()), l.asked("nvmlDeviceGetCount_v2")
}

// handle is the answer of every function that gives a device.
func (l *library) handle(symbol string, is func(i int, g *gpu) bool) (nvml.Device, nvml.Return) {
	if r := l.asked(symbol); r != nvml.SUCCESS {
		return nil, r
	}
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	for i, g := range l.p.present() {
		switch {
		case !is(i, g):
		case g.lost:
			return nil, nvml.ERROR_GPU_IS_LOST
		default:
			return &device{p: l.p, g: g, index: i}, nvml.SUCCESS
		}
	}
	return nil, nvml.ERROR_NOT_FOUND
}

// DeviceGetHandleByIndex gives a device in PCI order.
func (l *library) DeviceGetHandleByIndex(index int) (nvml.Device, nvml.Return) {
	d, r := l.handle("nvmlDeviceGetHandleByIndex_v2", func(i int, _ *gpu) bool { return i == index })
	if r == nvml.ERROR_NOT_FOUND {
		return nil, nvml.ERROR_INVALID_ARGUMENT
	}
	return d, r
}

// DeviceGetHandleByPciBusId takes a bus id with four or eight digits of domain.
func (l *library) DeviceGetHandleByPciBusId(id string) (nvml.Device, nvml.Return) {
	want := strings.ToLower(id)
	if len(want) == len("00000000:18:00.0") {
		want = want[4:]
	}
	return l.handle("nvmlDeviceGetHandleByPciBusId_v2", func(_ int, g *gpu) bool { return g.place.bus == want })
}

// DeviceGetHandleByUUID takes the UUID that the board has, whatever NVML says
// of it.
func (l *library) DeviceGetHandleByUUID(id string) (nvml.Device, nvml.Return) {
	return l.handle("nvmlDeviceGetHandleByUUID", func(_ int, g *gpu) bool { return g.uuid.String() == id })
}

// DeviceGetTopologyCommonAncestor is the method of the first device.
func (l *library) DeviceGetTopologyCommonAncestor(a, b nvml.Device) (nvml.GpuTopologyLevel, nvml.Return) {
	return a.GetTopologyCommonAncestor(b)
}

// DeviceGetP2PStatus is the method of the first device.
func (l *library) DeviceGetP2PStatus(a, b nvml.Device, index nvml.GpuP2PCapsIndex) (nvml.GpuP2PStatus, nvml.Return) {
	return a.GetP2PStatus(b, index)
}
