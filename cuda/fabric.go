package cuda

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// FabricInfo is what NVML says of a GPU's registration with its NVLink fabric,
// in nvmlGpuFabricInfo_v3_t where the driver knows that form, else with no
// health in it (mask and summary 0: not supported). ERROR_FUNCTION_NOT_FOUND
// where the driver has no such function at all.
//
// It stands here because go-nvml answers nvmlDeviceGetGpuFabricInfoV through a
// type that nobody else can implement: a simulated device brings a method of
// its own.
func FabricInfo(lib nvml.Interface, device nvml.Device) (nvml.GpuFabricInfo_v3, nvml.Return) {
	if d, ok := device.(interface {
		FabricInfo() (nvml.GpuFabricInfo_v3, nvml.Return)
	}); ok {
		return d.FabricInfo()
	}
	if HasNVML(lib, "nvmlDeviceGetGpuFabricInfoV") {
		handler := device.GetGpuFabricInfoV()
		info, ret := handler.V3()
		if ret != nvml.ERROR_ARGUMENT_VERSION_MISMATCH {
			return info, ret
		}
		v2, ret := handler.V2()
		return nvml.GpuFabricInfo_v3{
			ClusterUuid: v2.ClusterUuid, Status: v2.Status, CliqueId: v2.CliqueId, State: v2.State, HealthMask: v2.HealthMask,
		}, ret
	}
	if !HasNVML(lib, "nvmlDeviceGetGpuFabricInfo") {
		return nvml.GpuFabricInfo_v3{}, nvml.ERROR_FUNCTION_NOT_FOUND
	}
	v1, ret := device.GetGpuFabricInfo()
	return nvml.GpuFabricInfo_v3{ClusterUuid: v1.ClusterUuid, Status: v1.Status, CliqueId: v1.CliqueId, State: v1.State}, ret
}
