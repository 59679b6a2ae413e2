package cuda

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// FabricAnswerer is an nvml.Device that answers for its fabric itself. go-nvml
// hands the answer out through a type that only go-nvml can make, so a
// simulated device has this method instead of GetGpuFabricInfoV.
type FabricAnswerer interface {
	FabricInfo() (nvml.GpuFabricInfo_v3, nvml.Return)
}

// FabricInfo is nvmlDeviceGetGpuFabricInfoV: the newest form of the answer
// that the driver knows. Drivers before 570 know no HealthSummary and leave it
// not-supported. Ask HasNVML(lib, "nvmlDeviceGetGpuFabricInfoV") before.
func FabricInfo(dev nvml.Device) (nvml.GpuFabricInfo_v3, nvml.Return) {
	if own, ok := dev.(FabricAnswerer); ok {
		return own.FabricInfo()
	}
	handler := dev.GetGpuFabricInfoV()
	info, ret := handler.V3()
	if ret != nvml.ERROR_ARGUMENT_VERSION_MISMATCH {
		return info, ret
	}
	old, ret := handler.V2()
	return nvml.GpuFabricInfo_v3{
		ClusterUuid: old.ClusterUuid, Status: old.Status, CliqueId: old.CliqueId,
		State: old.State, HealthMask: old.HealthMask,
	}, ret
}
