package sim

import (
	"encoding/binary"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/peerproof/peerproof/cuda"
)

func TestPCIeLinkUnderLoad(t *testing.T) {
	r := open(t, node(gpus(2, "NVIDIA L40S"), "faults: [{kind: pcie-link, gpu: 0, idle: {gen: 1}, loaded: {gen: 3, width: 8}}]"), History{})
	must(t, r.bundle.NVML.Init())
	link := func(i int) (l pcieLink) {
		d := handle(t, r.bundle.NVML, i)
		l.gen, _ = d.GetCurrPcieLinkGeneration()
		l.width, _ = d.GetCurrPcieLinkWidth()
		return l
	}
	expect := func(when string, zero, one pcieLink) {
		t.Helper()
		if link(0) != zero || link(1) != one {
			t.Errorf("%s: %v and %v, want %v and %v", when, link(0), link(1), zero, one)
		}
	}
	full := pcieLink{4, 16}
	expect("idle", pcieLink{1, 16}, full)
	p := r.alloc(0, 64)
	r.ok(r.api.MemsetD8Async(p, 1, 64, 0))
	expect("with work queued", pcieLink{3, 8}, full)
	r.ok(r.api.CtxSynchronize())
	expect("after a wait", pcieLink{1, 16}, full)
	q := r.alloc(1, 64)
	r.ok(r.api.MemcpyPeerAsync(q, r.ctx[1], p, r.ctx[0], 64, 0)) // on device 1's stream
	expect("as the memory of another's copy", pcieLink{3, 8}, full)
	r.ok(r.api.CtxSynchronize())
	most, _ := handle(t, r.bundle.NVML, 0).GetMaxPcieLinkGeneration()
	if most != 4 {
		t.Errorf("the most that is possible is gen %d", most)
	}
}

func TestNVMLFaults(t *testing.T) {
	lib := openNVML(t, node("gpus: {count: 4, model: NVIDIA H200, memory: 4MiB}", "nvlink: {switch: {links: 18}}", "faults:",
		"  - {kind: nvml-error, gpu: 0, call: nvmlDeviceGetMemoryInfo, return: 999}",
		"  - {kind: lost, gpu: 1}",
		"  - {kind: missing, gpu: 2}",
		"  - {kind: busy, gpu: 3, pid: 4242}",
		"  - {kind: bar1, gpu: 0, size: 256MiB}",
		`  - {kind: identity, gpu: 0, uuid: "", serial: "1234"}`,
		"  - {kind: firmware, gpu: 0, vbios: 1.2.3}",
		"  - {kind: ecc-off, gpu: 3}",
		"  - {kind: ecc, gpu: 0, uncorrected: 2}",
		"  - {kind: remap, gpu: 0, completed: 3, pending: true}",
		"  - {kind: recovery-action, gpu: 3, action: reset}",
		"  - {kind: persistence-off, gpu: 3}",
		"  - {kind: power-limit, gpu: 3, watts: 450}",
		"  - {kind: compute-mode, gpu: 3, mode: exclusive-process}",
		"  - {kind: fabric, gpu: 3, state: completed, health: limited-capacity, status: insufficient-resources}",
		"  - {kind: fabric, gpu: 0, state: in-progress}"))
	n, _ := lib.DeviceGetCount()
	if n != 3 {
		t.Fatalf("%d devices, want 3: one is missing", n)
	}
	if _, r := lib.DeviceGetHandleByIndex(1); r != nvml.ERROR_GPU_IS_LOST {
		t.Errorf("handle of a lost GPU: %v", r)
	}
	if _, r := lib.DeviceGetHandleByPciBusId("0000:3a:00.0"); r != nvml.ERROR_NOT_FOUND {
		t.Errorf("handle of a missing GPU: %v", r)
	}
	zero, three := handle(t, lib, 0), handle(t, lib, 2)
	if _, r := zero.GetMemoryInfo(); r != nvml.ERROR_UNKNOWN {
		t.Errorf("nvml-error: %v", r)
	}
	if _, r := three.GetMemoryInfo(); r != nvml.SUCCESS {
		t.Errorf("nvml-error hits another GPU: %v", r)
	}
	if bar1, _ := zero.GetBAR1MemoryInfo(); bar1.Bar1Total != 256<<20 {
		t.Errorf("BAR1 %d", bar1.Bar1Total)
	}
	if _, r := zero.GetUUID(); r == nvml.SUCCESS {
		t.Error("an unreadable UUID was read")
	}
	if s, _ := zero.GetSerial(); s != "1234" {
		t.Errorf("serial %q", s)
	}
	if v, _ := zero.GetVbiosVersion(); v != "1.2.3" {
		t.Errorf("VBIOS %q", v)
	}
	processes, _ := three.GetComputeRunningProcesses()
	if len(processes) != 1 || processes[0].Pid != 4242 {
		t.Errorf("processes %v", processes)
	}
	if mode, _, _ := three.GetEccMode(); mode != nvml.FEATURE_DISABLED {
		t.Error("ECC is on")
	}
	if c, _ := zero.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC); c != 2 {
		t.Errorf("%d uncorrected errors", c)
	}
	if _, rows, pending, failed, _ := zero.GetRemappedRows(); rows != 3 || !pending || failed {
		t.Errorf("remapped rows %d, pending %v, failed %v", rows, pending, failed)
	}
	values := []nvml.FieldValue{{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}}
	must(t, three.GetFieldValues(values))
	if a := binary.LittleEndian.Uint32(values[0].Value[:]); nvml.DeviceGpuRecoveryAction(a) != nvml.GPU_RECOVERY_ACTION_GPU_RESET {
		t.Errorf("recovery action %d", a)
	}
	if mode, _ := three.GetPersistenceMode(); mode != nvml.FEATURE_DISABLED {
		t.Error("persistence is on")
	}
	if limit, _ := three.GetEnforcedPowerLimit(); limit != 450_000 {
		t.Errorf("power limit %d", limit)
	}
	if mode, _ := three.GetComputeMode(); mode != nvml.COMPUTEMODE_EXCLUSIVE_PROCESS {
		t.Errorf("compute mode %d", mode)
	}
	info, r := cuda.FabricInfo(three)
	must(t, r)
	if info.State != nvml.GPU_FABRIC_STATE_COMPLETED || info.HealthSummary != nvml.GPU_FABRIC_HEALTH_SUMMARY_LIMITED_CAPACITY ||
		nvml.Return(info.Status) != nvml.ERROR_INSUFFICIENT_RESOURCES {
		t.Errorf("fabric %+v", info)
	}
	if info, _ := cuda.FabricInfo(zero); info.State != nvml.GPU_FABRIC_STATE_IN_PROGRESS {
		t.Errorf("fabric %+v", info)
	}
}

func TestNVMLHang(t *testing.T) {
	lib := openNVML(t, node(gpus(2, "NVIDIA L40S"), "faults: [{kind: nvml-hang, gpu: 1, call: GetTemperature}]"))
	returned := make(chan nvml.Return, 1)
	go func() {
		d, _ := lib.DeviceGetHandleByIndex(1)
		_, r := d.GetTemperature(nvml.TEMPERATURE_GPU)
		returned <- r
	}()
	waitBriefly(t, returned)
	if _, r := handle(t, lib, 0).GetTemperature(nvml.TEMPERATURE_GPU); r != nvml.SUCCESS {
		t.Errorf("another GPU: %v", r)
	}
}

func TestOldDrivers(t *testing.T) {
	cases := []struct {
		driver string
		symbol string
		has    bool
	}{
		{"{version: 580.95.05}", "nvmlDeviceGetGpuFabricInfoV", true},
		{"{version: 535.54}", "nvmlDeviceGetGpuFabricInfoV", false},
		{"{version: 535.54}", "nvmlDeviceGetGpuFabricInfo", true},
		{"{version: 470.82.01}", "nvmlDeviceGetGpuFabricInfo", false},
		{"{version: 470.82.01}", "nvmlDeviceGetMemoryBusWidth", false},
		{"{version: 470.82.01}", "nvmlDeviceGetName", true},
		{"{missing-symbols: [nvmlDeviceGetName]}", "nvmlDeviceGetName", false},
		{"{}", "nvmlDeviceGetPciInfo_v3", true},
		{"{}", "nvmlDeviceGetNoSuchThing", false},
		{"{}", "nvmlInit_v2", true},
		{"none", "nvmlInit_v2", false},
	}
	for _, c := range cases {
		lib := parse(t, node(gpus(1, "NVIDIA H200"), "driver: "+c.driver)).Open(History{}).NVML
		if got := cuda.HasNVML(lib, c.symbol); got != c.has {
			t.Errorf("driver %s has %s: %v, want %v", c.driver, c.symbol, got, c.has)
		}
	}
	d := handle(t, openNVML(t, node(gpus(1, "NVIDIA H200"), "driver: {version: 535.54}")), 0)
	values := []nvml.FieldValue{{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}}
	must(t, d.GetFieldValues(values))
	if nvml.Return(values[0].NvmlReturn) != nvml.ERROR_NOT_SUPPORTED {
		t.Errorf("recovery action of an old driver: %v", values[0].NvmlReturn)
	}
	if _, r := handle(t, openNVML(t, node(gpus(1, "NVIDIA H200"), "driver: {version: 470.82.01}")), 0).GetMemoryBusWidth(); r != nvml.ERROR_FUNCTION_NOT_FOUND {
		t.Errorf("a function that is not there: %v", r)
	}
}
