package sim

import (
	"slices"
	"strconv"
	"strings"
)

// since is the driver branch that brought a function, for those that are
// younger than the oldest driver worth simulating (450). From the change logs
// of NVML's and CUDA's references.
var since = map[string]int{
	"cuDeviceGetUuid_v2":                       470,
	"nvmlDeviceGetMemoryBusWidth":              510,
	"nvmlDeviceGetMemoryInfo_v2":               510,
	"nvmlDeviceGetGpuMaxPcieLinkGeneration":    515,
	"nvmlDeviceGetGpuFabricInfo":               525,
	"nvmlDeviceGetCurrentClocksEventReasons":   535,
	"nvmlDeviceGetSupportedClocksEventReasons": 535,
	"nvmlDeviceGetModuleId":                    535,
	"nvmlDeviceGetNumaNodeId":                  545,
	"nvmlDeviceGetGpuFabricInfoV":              550,
}

// recoveryActionSince is the branch that brought the field value
// NVML_FI_DEV_GET_GPU_RECOVERY_ACTION.
const recoveryActionSince = 570

// branch is the first number of the driver's version: 580.
func (d *driver) branch() int {
	first, _, _ := strings.Cut(d.version, ".")
	n, _ := strconv.Atoi(first) // the pattern of versions has digits there
	return n
}

// lacks says that the driver has no such symbol: it is too old for it, or the
// file says so.
func (f *File) lacks(symbol string) bool {
	return slices.Contains(f.driver.missing, symbol) || f.driver.branch() < since[symbol]
}
