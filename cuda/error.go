package cuda

import (
	"errors"
	"fmt"
	"strings"
)

// Error is a call that the CUDA driver did not answer with success.
type Error struct {
	Op     string // the C function, without its version suffix
	Code   Result
	Name   string // the driver's name of Code: "CUDA_ERROR_NO_DEVICE"
	Text   string // the driver's description of Code; may be empty
	Device int    // the device that was asked, as Device.Slot names it; -1: none
}

// Error is, for example, "cuCtxEnablePeerAccess on gpu1:
// CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED (704): peer access is already enabled".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Device >= 0 {
		fmt.Fprintf(&b, " on gpu%d", e.Device)
	}
	fmt.Fprintf(&b, ": %s (%d)", e.Name, e.Code)
	if e.Text != "" {
		b.WriteString(": ")
		b.WriteString(e.Text)
	}
	return b.String()
}

// Code is the driver's result behind err, and whether there is one.
func Code(err error) (Result, bool) {
	var e *Error
	if errors.As(err, &e) {
		return e.Code, true
	}
	return Success, false
}

// Sticky says that after this result the process is of no more use for CUDA:
// only a new one helps.
//
// The driver API reference says so in its description of CUresult for 226, 700,
// 702, 714 to 719, 721, 810 and 911, and for 710 that the context is lost. Of
// 214 and 220 it says only that the memory or link error cannot be corrected;
// they end the work of the whole context, which with primary contexts is the
// process's only one on that device. A lost GPU answers 999 for itself while
// the others work, so 999 is not sticky, and neither is 709: another context
// can be made.
func (r Result) Sticky() bool {
	switch r {
	case ErrECCUncorrectable, ErrNVLinkUncorrectable, ErrContained,
		ErrIllegalAddress, ErrLaunchTimeout, ErrAssert,
		ErrHardwareStack, ErrIllegalInstruction, ErrMisalignedAddress,
		ErrInvalidAddressSpace, ErrInvalidPC, ErrLaunchFailed, ErrTensorMemoryLeak,
		ErrMPSClientTerminated, ErrExternalDevice:
		return true
	default:
		return false
	}
}

// String is the result's name in cuda.h, or "CUresult(N)" for one that is not
// among this package's constants.
func (r Result) String() string {
	if name, ok := resultNames[r]; ok {
		return name
	}
	return fmt.Sprintf("CUresult(%d)", int32(r))
}

// resultNames serves where the driver cannot be asked, or is older than the
// result.
var resultNames = map[Result]string{
	Success:                  "CUDA_SUCCESS",
	ErrInvalidValue:          "CUDA_ERROR_INVALID_VALUE",
	ErrOutOfMemory:           "CUDA_ERROR_OUT_OF_MEMORY",
	ErrNotInitialized:        "CUDA_ERROR_NOT_INITIALIZED",
	ErrDeinitialized:         "CUDA_ERROR_DEINITIALIZED",
	ErrDeviceUnavailable:     "CUDA_ERROR_DEVICE_UNAVAILABLE",
	ErrNoDevice:              "CUDA_ERROR_NO_DEVICE",
	ErrInvalidDevice:         "CUDA_ERROR_INVALID_DEVICE",
	ErrInvalidContext:        "CUDA_ERROR_INVALID_CONTEXT",
	ErrECCUncorrectable:      "CUDA_ERROR_ECC_UNCORRECTABLE",
	ErrPeerAccessUnsupported: "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
	ErrNVLinkUncorrectable:   "CUDA_ERROR_NVLINK_UNCORRECTABLE",
	ErrContained:             "CUDA_ERROR_CONTAINED",
	ErrInvalidHandle:         "CUDA_ERROR_INVALID_HANDLE",
	ErrNotFound:              "CUDA_ERROR_NOT_FOUND",
	ErrNotReady:              "CUDA_ERROR_NOT_READY",
	ErrIllegalAddress:        "CUDA_ERROR_ILLEGAL_ADDRESS",
	ErrLaunchTimeout:         "CUDA_ERROR_LAUNCH_TIMEOUT",
	ErrPeerAlreadyEnabled:    "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
	ErrPeerNotEnabled:        "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED",
	ErrContextIsDestroyed:    "CUDA_ERROR_CONTEXT_IS_DESTROYED",
	ErrAssert:                "CUDA_ERROR_ASSERT",
	ErrTooManyPeers:          "CUDA_ERROR_TOO_MANY_PEERS",
	ErrHardwareStack:         "CUDA_ERROR_HARDWARE_STACK_ERROR",
	ErrIllegalInstruction:    "CUDA_ERROR_ILLEGAL_INSTRUCTION",
	ErrMisalignedAddress:     "CUDA_ERROR_MISALIGNED_ADDRESS",
	ErrInvalidAddressSpace:   "CUDA_ERROR_INVALID_ADDRESS_SPACE",
	ErrInvalidPC:             "CUDA_ERROR_INVALID_PC",
	ErrLaunchFailed:          "CUDA_ERROR_LAUNCH_FAILED",
	ErrTensorMemoryLeak:      "CUDA_ERROR_TENSOR_MEMORY_LEAK",
	ErrNotSupported:          "CUDA_ERROR_NOT_SUPPORTED",
	ErrSystemNotReady:        "CUDA_ERROR_SYSTEM_NOT_READY",
	ErrSystemDriverMismatch:  "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
	ErrMPSClientTerminated:   "CUDA_ERROR_MPS_CLIENT_TERMINATED",
	ErrExternalDevice:        "CUDA_ERROR_EXTERNAL_DEVICE",
	ErrUnknown:               "CUDA_ERROR_UNKNOWN",
}
