package sim

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// other is the simulated device behind a handle that a caller gives.
func (d *device) other(of nvml.Device) (*gpu, bool) {
	o, ok := of.(*device)
	if !ok || o.p != d.p {
		return nil, false
	}
	return o.g, true
}

// GetTopologyCommonAncestor is where the ways to two GPUs meet. A guest sees
// one host bridge.
func (d *device) GetTopologyCommonAncestor(of nvml.Device) (nvml.GpuTopologyLevel, nvml.Return) {
	const method = "GetTopologyCommonAncestor"
	b, ok := d.other(of)
	switch {
	case !ok:
		return 0, nvml.ERROR_INVALID_ARGUMENT
	case b == d.g:
		return perhaps(d, method, false, nvml.TOPOLOGY_INTERNAL)
	case d.p.file.env.virtualised:
		return answer(d, method, nvml.TOPOLOGY_HOSTBRIDGE)
	case d.p.sharesSwitch(d.g, b):
		return answer(d, method, nvml.TOPOLOGY_SINGLE)
	case d.p.crosses(d.g, b):
		return answer(d, method, nvml.TOPOLOGY_SYSTEM)
	default:
		return answer(d, method, nvml.TOPOLOGY_HOSTBRIDGE)
	}
}

// GetP2PStatus is what NVML believes, which a fault may prove wrong.
func (d *device) GetP2PStatus(of nvml.Device, index nvml.GpuP2PCapsIndex) (nvml.GpuP2PStatus, nvml.Return) {
	const method = "GetP2PStatus"
	b, ok := d.other(of)
	if !ok {
		return nvml.P2P_STATUS_UNKNOWN, nvml.ERROR_INVALID_ARGUMENT
	}
	linked := d.p.activeLinks(d.g, b) > 0
	status := nvml.P2P_STATUS_NOT_SUPPORTED
	switch index {
	case nvml.P2P_CAPS_INDEX_READ, nvml.P2P_CAPS_INDEX_WRITE:
		switch {
		case b == d.g || d.g.mig || b.mig:
		case d.p.reaches(d.g, b):
			status = nvml.P2P_STATUS_OK
		default:
			status = nvml.P2P_STATUS_GPU_NOT_SUPPORTED
		}
	case nvml.P2P_CAPS_INDEX_NVLINK, nvml.P2P_CAPS_INDEX_ATOMICS:
		if linked {
			status = nvml.P2P_STATUS_OK
		}
	case nvml.P2P_CAPS_INDEX_PCI:
		if b != d.g && d.p.file.pcieP2P {
			status = nvml.P2P_STATUS_OK
		}
	default:
		return nvml.P2P_STATUS_UNKNOWN, nvml.ERROR_INVALID_ARGUMENT
	}
	return answer(d, method, status)
}

// nvlink finds a link of the GPU. NVML knows none of a GPU that is passed
// through to a virtual machine.
func (d *device) nvlink(method string, number int) (link, nvml.Return) {
	if r := d.ask(method); r != nvml.SUCCESS {
		return link{}, r
	}
	switch {
	case len(d.g.links) == 0 || d.p.file.env.virtualised:
		return link{}, nvml.ERROR_NOT_SUPPORTED
	case number < 0 || number >= len(d.g.links):
		return link{}, nvml.ERROR_INVALID_ARGUMENT
	}
	l := d.g.links[number]
	for _, ft := range d.g.faults {
		if ft.kind == "wrong-peer" && ft.links[0] == number {
			l.peer, l.bus = ft.remote, ""
			if ft.remote < 0 {
				l.peer = toNobody
			}
		}
	}
	return l, nvml.SUCCESS
}

func (d *device) GetNvLinkState(number int) (nvml.EnableState, nvml.Return) {
	l, r := d.nvlink("GetNvLinkState", number)
	if r != nvml.SUCCESS || l.down {
		return nvml.FEATURE_DISABLED, r
	}
	return nvml.FEATURE_ENABLED, r
}

// nvlinkVersions are NVML's numbers (nvmlNvlinkVersion_t) of NVLink's versions.
var nvlinkVersions = map[int]nvml.NvlinkVersion{
	1: nvml.NVLINK_VERSION_1_0, 2: nvml.NVLINK_VERSION_2_0, 3: nvml.NVLINK_VERSION_3_0,
	4: nvml.NVLINK_VERSION_4_0, 5: nvml.NVLINK_VERSION_5_0,
}

func (d *device) GetNvLinkVersion(number int) (uint32, nvml.Return) {
	_, r := d.nvlink("GetNvLinkVersion", number)
	if r != nvml.SUCCESS {
		return 0, r
	}
	return uint32(nvlinkVersions[d.p.file.nvlink.version]), r
}

// GetNvLinkRemotePciInfo names the other end, of a link that is down too.
func (d *device) GetNvLinkRemotePciInfo(number int) (nvml.PciInfo, nvml.Return) {
	l, r := d.nvlink("GetNvLinkRemotePciInfo", number)
	switch {
	case r != nvml.SUCCESS:
		return nvml.PciInfo{}, r
	case l.peer >= 0:
		return pciInfo(d.p.gpus[l.peer].place.bus), r
	case l.bus != "":
		return pciInfo(l.bus), r
	default: // nobody, or a switch that is no PCI device
		return pciInfo("0000:00:00.0"), r
	}
}

func (d *device) GetNvLinkRemoteDeviceType(number int) (nvml.IntNvLinkDeviceType, nvml.Return) {
	l, r := d.nvlink("GetNvLinkRemoteDeviceType", number)
	switch {
	case r != nvml.SUCCESS || l.peer == toNobody:
		return nvml.NVLINK_DEVICE_TYPE_UNKNOWN, r
	case l.peer == toSwitch:
		return nvml.NVLINK_DEVICE_TYPE_SWITCH, r
	default:
		return nvml.NVLINK_DEVICE_TYPE_GPU, r
	}
}

func (d *device) GetNvLinkCapability(number int, c nvml.NvLinkCapability) (uint32, nvml.Return) {
	_, r := d.nvlink("GetNvLinkCapability", number)
	switch {
	case r != nvml.SUCCESS:
		return 0, r
	case c < 0 || c >= nvml.NVLINK_CAP_COUNT:
		return 0, nvml.ERROR_INVALID_ARGUMENT
	case c == nvml.NVLINK_CAP_SLI_BRIDGE:
		return 0, r
	default:
		return 1, r
	}
}

// fabric is the GPU's registration with its fabric, as the product ships or a
// fault says.
func (d *device) fabric() (state uint8, status nvml.Return, health string) {
	f := d.p.file
	if f.env.virtualised || f.nvlink == nil || f.nvlink.switched == 0 || !f.product.fabric() {
		state = nvml.GPU_FABRIC_STATE_NOT_SUPPORTED
	} else {
		state, health = nvml.GPU_FABRIC_STATE_COMPLETED, "healthy"
	}
	ft := d.g.fault("fabric")
	if ft == nil {
		return state, status, health
	}
	if ft.state != "" {
		state = map[string]uint8{
			"not-supported": nvml.GPU_FABRIC_STATE_NOT_SUPPORTED, "not-started": nvml.GPU_FABRIC_STATE_NOT_STARTED,
			"in-progress": nvml.GPU_FABRIC_STATE_IN_PROGRESS, "completed": nvml.GPU_FABRIC_STATE_COMPLETED,
		}[ft.state]
	}
	if state != nvml.GPU_FABRIC_STATE_COMPLETED {
		return state, nvml.SUCCESS, ""
	}
	if ft.health != "" {
		health = ft.health
	}
	return state, nvml.Return(ft.status), health
}

func (d *device) GetGpuFabricInfo() (nvml.GpuFabricInfo, nvml.Return) {
	if r := d.ask("GetGpuFabricInfo"); r != nvml.SUCCESS {
		return nvml.GpuFabricInfo{}, r
	}
	state, status, _ := d.fabric()
	return nvml.GpuFabricInfo{State: state, Status: uint32(status)}, nvml.SUCCESS
}

// FabricInfo is what cuda.FabricInfo asks: with health where the driver knows
// of it.
func (d *device) FabricInfo() (nvml.GpuFabricInfo_v3, nvml.Return) {
	if r := d.ask("GetGpuFabricInfo"); r != nvml.SUCCESS {
		return nvml.GpuFabricInfo_v3{}, r
	}
	state, status, health := d.fabric()
	info := nvml.GpuFabricInfo_v3{State: state, Status: uint32(status)}
	if d.p.file.lacks("nvmlDeviceGetGpuFabricInfoV") {
		return info, nvml.SUCCESS
	}
	const degraded, unhealthy = nvml.GPU_FABRIC_HEALTH_MASK_SHIFT_DEGRADED_BW, nvml.GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_UNHEALTHY
	const no, yes = 2, 1 // of both fields
	switch health {
	case "healthy":
		info.HealthSummary, info.HealthMask = nvml.GPU_FABRIC_HEALTH_SUMMARY_HEALTHY, no<<degraded|no<<unhealthy
	case "unhealthy":
		info.HealthSummary, info.HealthMask = nvml.GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY, no<<degraded|yes<<unhealthy
	case "limited-capacity":
		info.HealthSummary, info.HealthMask = nvml.GPU_FABRIC_HEALTH_SUMMARY_LIMITED_CAPACITY, yes<<degraded|no<<unhealthy
	}
	return info, nvml.SUCCESS
}
