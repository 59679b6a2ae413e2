package inventory

import (
	"strings"
	"testing"

	"github.com/peerproof/peerproof/fixtures"
)

func TestJudgeDriver(t *testing.T) {
	fine := &fixtures.Call{Op: "fine"}
	failed := func(code int) *fixtures.Call { return &fixtures.Call{Op: "it", Code: code, Error: "no"} }
	for name, c := range map[string]struct {
		driver     fixtures.Driver
		code, says string
	}{
		"all started":                      {fixtures.Driver{NVMLInit: fine, CUDAOpen: fine, CUDAInit: fine, KernelModule: "580.1", NVML: "580.1"}, "", ""},
		"nothing was asked":                {fixtures.Driver{}, "", ""},
		"CUDA was not started":             {fixtures.Driver{NVMLInit: fine, CUDAOpen: fine}, "", ""},
		"NVML is of another version":       {fixtures.Driver{NVMLInit: failed(18), KernelModule: "570.1"}, "version-mismatch", "570.1"},
		"CUDA is of another version":       {fixtures.Driver{NVMLInit: fine, CUDAOpen: fine, CUDAInit: failed(803), KernelModule: "570.1"}, "version-mismatch", "570.1"},
		"CUDA fails otherwise":             {fixtures.Driver{NVMLInit: fine, CUDAOpen: fine, CUDAInit: failed(999)}, "", ""}, // for inventory/cuda-init
		"the module is of another one":     {fixtures.Driver{NVMLInit: fine, CUDAOpen: fine, KernelModule: "570.1", NVML: "580.1"}, "version-mismatch", "570.1, NVML's driver 580.1"},
		"the module does not tell":         {fixtures.Driver{NVMLInit: fine, CUDAOpen: fine, NVML: "580.1"}, "", ""},
		"NVML does not tell":               {fixtures.Driver{NVMLInit: fine, CUDAOpen: fine, KernelModule: "580.1"}, "", ""},
		"NVML does not return":             {fixtures.Driver{NVMLInit: &fixtures.Call{Op: "nvmlInit_v2", Hang: true}}, "hang", "nvmlInit_v2 did not return"},
		"NVML is not there":                {fixtures.Driver{NVMLInit: failed(12)}, "driver-missing", "it"},
		"libcuda is not there":             {fixtures.Driver{NVMLInit: fine, CUDAOpen: failed(-1)}, "driver-missing", "it"},
		"libcuda fails with NVML's number": {fixtures.Driver{NVMLInit: fine, CUDAOpen: failed(18)}, "driver-missing", "it"},
	} {
		if code, message := judgeDriver(c.driver); code != c.code || !strings.Contains(message, c.says) {
			t.Errorf("%s: %q, %q; want %q with %q", name, code, message, c.code, c.says)
		}
	}
}

// The most common version stands last and, where it is the only most common
// one, as a number of others.
func TestDisagreement(t *testing.T) {
	for name, c := range map[string]struct {
		versions map[string][]string
		want     string
	}{
		"one of three": {map[string][]string{"1": {"gpu0", "gpu2"}, "2": {"gpu1"}}, "V of M differs: 2 of gpu1, 1 of 2 others"},
		"two and two":  {map[string][]string{"1": {"gpu0", "gpu2"}, "2": {"gpu1", "gpu3"}}, "V of M differs: 2 of gpu1, gpu3, 1 of gpu0, gpu2"},
		"one and one":  {map[string][]string{"1": {"gpu0"}, "2": {"gpu1"}}, "V of M differs: 2 of gpu1, 1 of gpu0"},
		"three of two": {map[string][]string{"1": {"gpu0"}, "2": {"gpu1", "gpu2"}, "3": {"gpu3", "gpu4"}}, "V of M differs: 1 of gpu0, 3 of gpu3, gpu4, 2 of gpu1, gpu2"},
	} {
		if got := disagreement("M", "V", c.versions); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
