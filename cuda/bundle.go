package cuda

import (
	"io"
	"io/fs"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Bundle is everything that a node is asked through. The real one is made by
// Real, a simulated one by package sim; nothing above this package can tell
// which it holds.
type Bundle struct {
	// OpenCUDA opens the CUDA driver library. An error names the library or
	// the symbol that is missing. It may be called more than once.
	OpenCUDA func() (*API, error)
	// NVML is go-nvml's library; its Init opens libnvidia-ml.so.1. Before a
	// function that older drivers lack, ask HasNVML.
	NVML nvml.Interface
	// OpenNCCL opens the collective library; nil where there cannot be one.
	// Bundle.NCCL asks it.
	OpenNCCL func() (*NCCL, error)
	// Annotate tells a simulated node which spec is about to run, also one that
	// does not use CUDA; nil where nobody wants to know.
	Annotate func(spec string)
	// Clock is the time that has passed for the caller, in seconds from any
	// moment on: a simulated node's is virtual. nil is the real one.
	Clock func() float64
	// Private says that NVML's events and the kernel log tell of what this
	// process did alone, so that no other process can watch them for it.
	Private bool
	Host    Host
}

// Host is the part of the operating system that a check reads.
type Host struct {
	// Name is the host name.
	Name string
	// FS is the root of the file system; sysfs, /proc and /dev are read
	// through it with slash-separated paths without a leading slash.
	// Symbolic links are followed.
	FS fs.FS
	// Environ is the environment of the caller, as os.Environ has it.
	Environ func() []string
	// KernelLog opens the kernel log at its end and follows it: lines in the
	// form of /dev/kmsg ("3,1042,5000000,-;NVRM: Xid (PCI:0000:18:00): 79, …").
	// It fails with fs.ErrPermission where the reader is not allowed to. A
	// read waits for the next line; Close ends that wait.
	KernelLog func() (io.ReadCloser, error)
}

// LookupEnv is a variable of the caller's environment, and whether it is set.
func (h Host) LookupEnv(name string) (value string, set bool) {
	for _, v := range h.Environ() {
		if value, set = strings.CutPrefix(v, name+"="); set {
			return value, true
		}
	}
	return "", false
}

// Getenv is a variable of the caller's environment; "" too where it is not set.
func (h Host) Getenv(name string) string {
	value, _ := h.LookupEnv(name)
	return value
}

// HasNVML says whether the installed NVML has the C function symbol. Calling
// one that it lacks would end the process in the dynamic linker.
func HasNVML(lib nvml.Interface, symbol string) bool {
	return lib.Extensions().LookupSymbol(symbol) == nil
}
