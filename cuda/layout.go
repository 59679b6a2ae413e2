package cuda

import (
	"encoding/hex"
	"fmt"
)

// The structures that the driver reads, laid out as cuda.h has them for 64-bit
// systems. Fields that peerproof leaves zero are blank or say so.

// Memcpy3DPeer is CUDA_MEMCPY3D_PEER: Depth times Height rows of WidthInBytes.
type Memcpy3DPeer struct {
	Src, Dst                    Memcpy3DEnd
	WidthInBytes, Height, Depth uintptr
}

// Memcpy3DEnd is where the rows of a Memcpy3DPeer begin at one of its ends.
type Memcpy3DEnd struct {
	XInBytes, Y, Z, LOD uintptr
	MemoryType          uint32 // MemoryTypeDevice
	_                   uint32
	Host                uintptr // unused with device memory, as Array
	Device              DevicePtr
	Array               uintptr
	Context             uintptr // CUcontext of the memory's device
	Pitch               uintptr // bytes from one row to the next
	PlaneHeight         uintptr // rows of a plane; at least Height
}

// MemoryTypeDevice is CU_MEMORYTYPE_DEVICE.
const MemoryTypeDevice = 2

// MemLocation is CUmemLocation.
type MemLocation struct {
	Type int32 // MemLocationDevice
	ID   int32 // CUdevice
}

// MemAllocationProp is CUmemAllocationProp.
type MemAllocationProp struct {
	Type                 int32 // MemAllocationPinned
	RequestedHandleTypes int32 // 0: not shared with other processes
	Location             MemLocation
	_                    uintptr // win32HandleMetaData
	_                    [8]byte // allocFlags
}

// MemAccessDesc is CUmemAccessDesc: a device and what its kernels may do.
type MemAccessDesc struct {
	Location MemLocation
	Flags    int32 // MemAccessReadWrite
}

// MemPoolProps is CUmemPoolProps.
type MemPoolProps struct {
	AllocType   int32 // MemAllocationPinned
	HandleTypes int32 // 0: not shared with other processes
	Location    MemLocation
	_           uintptr // win32SecurityAttributes
	MaxSize     uintptr // 0: as the system likes
	_           [56]byte
}

// Values of the fields above.
const (
	MemAllocationPinned = 1 // CU_MEM_ALLOCATION_TYPE_PINNED
	MemLocationDevice   = 1 // CU_MEM_LOCATION_TYPE_DEVICE
	MemAccessReadWrite  = 3 // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
)

// IPCHandle is CUipcMemHandle: it names an allocation to other processes of
// the machine for as long as its owner keeps it.
type IPCHandle struct{ Reserved [64]byte }

// MarshalText writes the handle as hexadecimal digits.
func (h IPCHandle) MarshalText() ([]byte, error) {
	return hex.AppendEncode(nil, h.Reserved[:]), nil
}

// UnmarshalText reads what MarshalText wrote.
func (h *IPCHandle) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(h.Reserved) {
		return fmt.Errorf("ipc handle: %d digits, want %d", len(text), hex.EncodedLen(len(h.Reserved)))
	}
	if _, err := hex.Decode(h.Reserved[:], text); err != nil {
		return fmt.Errorf("ipc handle: %w", err)
	}
	return nil
}
