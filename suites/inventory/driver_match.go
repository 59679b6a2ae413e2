package inventory

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("inventory/driver-match", fixtures.Whole, Label("gate"),
	"the kernel module and the driver's libraries are there and of one version", func(n *fixtures.Node) {
		code, message := judgeDriver(n.Driver)
		switch code {
		case "":
			if n.AllHidden() {
				fixtures.Skip("no-subjects", "the driver's versions agree, and every GPU is hidden from this run%s", hiddenGPUs(n))
			}
		case "hang":
			fixtures.Error(code, "%s", message)
		case "driver-missing":
			fixtures.FailWithHint(code, "install the NVIDIA driver and load its kernel module (modprobe nvidia); in a container, pass the driver's libraries in", "%s", message)
		default:
			fixtures.FailWithHint(code, "an update replaced one part of the driver while the other was loaded: reboot, or reload the kernel module", "%s", message)
		}
	}, fixtures.Needs())

// judgeDriver says what is wrong with the driver's three parts, by code.
// nvmlReturn_t 18 is LIB_RM_VERSION_MISMATCH, CUresult 803
// SYSTEM_DRIVER_MISMATCH.
func judgeDriver(d fixtures.Driver) (code, message string) {
	const nvmlMismatch, cudaMismatch = 18, 803
	for _, call := range []*fixtures.Call{d.NVMLInit, d.CUDAOpen} {
		switch {
		case call == nil || call.OK():
		case call.Hang:
			return "hang", call.Op + " did not return"
		case call == d.NVMLInit && call.Code == nvmlMismatch:
			return "version-mismatch", call.String() + ": the kernel module is " + d.KernelModule
		default:
			return "driver-missing", call.String()
		}
	}
	switch {
	case d.CUDAInit != nil && d.CUDAInit.Code == cudaMismatch:
		return "version-mismatch", d.CUDAInit.String() + ": the kernel module is " + d.KernelModule
	case d.KernelModule != "" && d.NVML != "" && d.KernelModule != d.NVML:
		return "version-mismatch", "the kernel module is " + d.KernelModule + ", NVML's driver " + d.NVML
	}
	return "", ""
}
