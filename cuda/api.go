// Package cuda is the driver bundle: the CUDA driver API opened at run time
// from libcuda.so.1, NVML through go-nvml, and the host's own files. It
// imports nothing else of peerproof. Names and semantics are those of
// NVIDIA's "CUDA Driver API" reference; sizes are in bytes throughout.
package cuda

import "unsafe"

// DevicePtr is a CUdeviceptr: an address in the unified address space.
type DevicePtr uint64

// API is the part of the CUDA driver API that peerproof calls, as one table of
// C functions. The tag names the exported symbol, with its version suffix, so
// that a missing one can be named. Open fills it from libcuda.so.1; package
// sim fills it with functions over host memory. Handles (CUcontext, CUstream,
// CUevent, CUmodule, CUfunction, CUgraph, CUgraphExec, CUmemoryPool) are opaque
// uintptrs. As in the driver, most calls act on the context that is current on
// the calling OS thread. A function whose tag says optional is nil where the
// driver is older than it; the methods that need it then return an error that
// Unavailable knows.
type API struct {
	Init             func(flags uint32) Result                                `sym:"cuInit"`
	DriverGetVersion func(version *int32) Result                              `sym:"cuDriverGetVersion"`
	GetErrorName     func(code Result, name **byte) Result                    `sym:"cuGetErrorName"`
	GetErrorString   func(code Result, text **byte) Result                    `sym:"cuGetErrorString"`
	DeviceGetCount   func(count *int32) Result                                `sym:"cuDeviceGetCount"`
	DeviceGet        func(device *int32, ordinal int32) Result                `sym:"cuDeviceGet"`
	DeviceGetName    func(name *byte, size int32, device int32) Result        `sym:"cuDeviceGetName"`
	DeviceGetUUID    func(uuid *[16]byte, device int32) Result                `sym:"cuDeviceGetUuid_v2"`
	DeviceGetBusID   func(busID *byte, size int32, device int32) Result       `sym:"cuDeviceGetPCIBusId"`
	DeviceAttribute  func(value *int32, attribute int32, device int32) Result `sym:"cuDeviceGetAttribute"`
	CanAccessPeer    func(can *int32, device, peer int32) Result              `sym:"cuDeviceCanAccessPeer"`
	P2PAttribute     func(value *int32, attribute, src, dst int32) Result     `sym:"cuDeviceGetP2PAttribute"`

	PrimaryCtxRetain  func(ctx *uintptr, device int32) Result `sym:"cuDevicePrimaryCtxRetain"`
	PrimaryCtxRelease func(device int32) Result               `sym:"cuDevicePrimaryCtxRelease_v2"`
	CtxSetCurrent     func(ctx uintptr) Result                `sym:"cuCtxSetCurrent"`
	CtxSynchronize    func() Result                           `sym:"cuCtxSynchronize"`
	EnablePeerAccess  func(peer uintptr, flags uint32) Result `sym:"cuCtxEnablePeerAccess"`
	DisablePeerAccess func(peer uintptr) Result               `sym:"cuCtxDisablePeerAccess"`

	MemAlloc                func(ptr *DevicePtr, bytes uintptr) Result                     `sym:"cuMemAlloc_v2"`
	MemFree                 func(ptr DevicePtr) Result                                     `sym:"cuMemFree_v2"`
	MemGetInfo              func(free, total *uintptr) Result                              `sym:"cuMemGetInfo_v2"`
	MemHostAlloc            func(ptr *unsafe.Pointer, bytes uintptr, flags uint32) Result  `sym:"cuMemHostAlloc"`
	MemFreeHost             func(ptr unsafe.Pointer) Result                                `sym:"cuMemFreeHost"`
	MemHostGetDevicePointer func(ptr *DevicePtr, host unsafe.Pointer, flags uint32) Result `sym:"cuMemHostGetDevicePointer_v2"`

	MemsetD8Async   func(dst DevicePtr, value uint8, bytes, stream uintptr) Result                                   `sym:"cuMemsetD8Async"`
	MemcpyHtoDAsync func(dst DevicePtr, src unsafe.Pointer, bytes, stream uintptr) Result                            `sym:"cuMemcpyHtoDAsync_v2"`
	MemcpyDtoHAsync func(dst unsafe.Pointer, src DevicePtr, bytes, stream uintptr) Result                            `sym:"cuMemcpyDtoHAsync_v2"`
	MemcpyDtoDAsync func(dst, src DevicePtr, bytes, stream uintptr) Result                                           `sym:"cuMemcpyDtoDAsync_v2"`
	MemcpyPeerAsync func(dst DevicePtr, dstCtx uintptr, src DevicePtr, srcCtx uintptr, bytes, stream uintptr) Result `sym:"cuMemcpyPeerAsync"`

	StreamCreate      func(stream *uintptr, flags uint32) Result             `sym:"cuStreamCreate"`
	StreamDestroy     func(stream uintptr) Result                            `sym:"cuStreamDestroy_v2"`
	StreamSynchronize func(stream uintptr) Result                            `sym:"cuStreamSynchronize"`
	StreamQuery       func(stream uintptr) Result                            `sym:"cuStreamQuery"`
	StreamWaitEvent   func(stream, event uintptr, flags uint32) Result       `sym:"cuStreamWaitEvent"`
	EventCreate       func(event *uintptr, flags uint32) Result              `sym:"cuEventCreate"`
	EventDestroy      func(event uintptr) Result                             `sym:"cuEventDestroy_v2"`
	EventRecord       func(event, stream uintptr) Result                     `sym:"cuEventRecord"`
	EventSynchronize  func(event uintptr) Result                             `sym:"cuEventSynchronize"`
	EventElapsedTime  func(milliseconds *float32, start, end uintptr) Result `sym:"cuEventElapsedTime"`

	ModuleLoadData    func(module *uintptr, image *byte) Result                  `sym:"cuModuleLoadData"`
	ModuleUnload      func(module uintptr) Result                                `sym:"cuModuleUnload"`
	ModuleGetFunction func(function *uintptr, module uintptr, name *byte) Result `sym:"cuModuleGetFunction"`
	// LaunchKernel's params point at one uint64 each: every kernel of package
	// kernels takes 64-bit parameters only.
	LaunchKernel func(function uintptr, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes uint32, stream uintptr, params *unsafe.Pointer, extra unsafe.Pointer) Result `sym:"cuLaunchKernel"`

	// A copy of rows between the memory of any two contexts.
	Memcpy3DPeerAsync func(rows *Memcpy3DPeer, stream uintptr) Result `sym:"cuMemcpy3DPeerAsync,optional"`

	StreamBeginCapture func(stream uintptr, mode uint32) Result                `sym:"cuStreamBeginCapture_v2,optional"`
	StreamEndCapture   func(stream uintptr, graph *uintptr) Result             `sym:"cuStreamEndCapture,optional"`
	GraphInstantiate   func(exec *uintptr, graph uintptr, flags uint64) Result `sym:"cuGraphInstantiateWithFlags,optional"`
	GraphLaunch        func(exec, stream uintptr) Result                       `sym:"cuGraphLaunch,optional"`
	GraphExecDestroy   func(exec uintptr) Result                               `sym:"cuGraphExecDestroy,optional"`
	GraphDestroy       func(graph uintptr) Result                              `sym:"cuGraphDestroy,optional"`

	MemGetAllocationGranularity func(bytes *uintptr, prop *MemAllocationProp, option uint32) Result                 `sym:"cuMemGetAllocationGranularity,optional"`
	MemAddressReserve           func(ptr *DevicePtr, bytes, alignment uintptr, hint DevicePtr, flags uint64) Result `sym:"cuMemAddressReserve,optional"`
	MemAddressFree              func(ptr DevicePtr, bytes uintptr) Result                                           `sym:"cuMemAddressFree,optional"`
	MemCreate                   func(handle *uint64, bytes uintptr, prop *MemAllocationProp, flags uint64) Result   `sym:"cuMemCreate,optional"`
	MemRelease                  func(handle uint64) Result                                                          `sym:"cuMemRelease,optional"`
	MemMap                      func(ptr DevicePtr, bytes, offset uintptr, handle, flags uint64) Result             `sym:"cuMemMap,optional"`
	MemUnmap                    func(ptr DevicePtr, bytes uintptr) Result                                           `sym:"cuMemUnmap,optional"`
	// MemSetAccess and MemPoolSetAccess read count descriptions.
	MemSetAccess func(ptr DevicePtr, bytes uintptr, desc *MemAccessDesc, count uintptr) Result `sym:"cuMemSetAccess,optional"`

	MemPoolCreate         func(pool *uintptr, props *MemPoolProps) Result                  `sym:"cuMemPoolCreate,optional"`
	MemPoolDestroy        func(pool uintptr) Result                                        `sym:"cuMemPoolDestroy,optional"`
	MemPoolSetAccess      func(pool uintptr, desc *MemAccessDesc, count uintptr) Result    `sym:"cuMemPoolSetAccess,optional"`
	MemAllocFromPoolAsync func(ptr *DevicePtr, bytes uintptr, pool, stream uintptr) Result `sym:"cuMemAllocFromPoolAsync,optional"`
	MemFreeAsync          func(ptr DevicePtr, stream uintptr) Result                       `sym:"cuMemFreeAsync,optional"`

	IPCGetMemHandle   func(handle *IPCHandle, ptr DevicePtr) Result               `sym:"cuIpcGetMemHandle,optional"`
	IPCOpenMemHandle  func(ptr *DevicePtr, handle IPCHandle, flags uint32) Result `sym:"cuIpcOpenMemHandle_v2,optional"`
	IPCCloseMemHandle func(ptr DevicePtr) Result                                  `sym:"cuIpcCloseMemHandle,optional"`
}

// Result is a CUresult.
type Result int32

// The results that peerproof tells apart, from cuda.h.
const (
	Success                  Result = 0
	ErrInvalidValue          Result = 1
	ErrOutOfMemory           Result = 2
	ErrNotInitialized        Result = 3
	ErrDeinitialized         Result = 4
	ErrDeviceUnavailable     Result = 46
	ErrNoDevice              Result = 100
	ErrInvalidDevice         Result = 101
	ErrInvalidContext        Result = 201
	ErrECCUncorrectable      Result = 214
	ErrPeerAccessUnsupported Result = 217
	ErrNVLinkUncorrectable   Result = 220
	ErrContained             Result = 226
	ErrInvalidHandle         Result = 400
	ErrNotFound              Result = 500
	ErrNotReady              Result = 600
	ErrIllegalAddress        Result = 700
	ErrLaunchTimeout         Result = 702
	ErrPeerAlreadyEnabled    Result = 704
	ErrPeerNotEnabled        Result = 705
	ErrContextIsDestroyed    Result = 709
	ErrAssert                Result = 710
	ErrTooManyPeers          Result = 711
	ErrHardwareStack         Result = 714
	ErrIllegalInstruction    Result = 715
	ErrMisalignedAddress     Result = 716
	ErrInvalidAddressSpace   Result = 717
	ErrInvalidPC             Result = 718
	ErrLaunchFailed          Result = 719
	ErrTensorMemoryLeak      Result = 721
	ErrNotSupported          Result = 801
	ErrSystemNotReady        Result = 802
	ErrSystemDriverMismatch  Result = 803
	ErrMPSClientTerminated   Result = 810
	ErrExternalDevice        Result = 911
	ErrUnknown               Result = 999
)

// Device attributes (CUdevice_attribute) that peerproof reads.
const (
	AttrMultiprocessorCount = 16
	AttrPCIBusID            = 33
	AttrMemoryClockKHz      = 36
	AttrMemoryBusWidthBits  = 37
	AttrPCIDeviceID         = 34
	AttrPCIDomainID         = 50
	AttrComputeMajor        = 75
	AttrComputeMinor        = 76
	AttrVirtualMemory       = 102 // AllocVMM works
	AttrMemoryPools         = 115 // AllocPool works
)

// P2P attributes (CUdevice_P2PAttribute).
const (
	P2PPerformanceRank = 1
	P2PAccessSupported = 2
	P2PNativeAtomics   = 3
)
