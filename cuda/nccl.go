package cuda

import (
	"errors"
	"fmt"
	"strings"
)

const ncclLibrary = "libnccl.so.2"

// ErrNoNCCL says that NCCL is not installed.
var ErrNoNCCL = errors.New(ncclLibrary + " is not installed")

// NCCL is the part of NVIDIA's collective library that peerproof calls, as one
// table of C functions, filled as API is. Communicators (ncclComm_t) are opaque
// uintptrs, streams are CUstreams. Types and operators are NCCLType and NCCLOp.
type NCCL struct {
	GetVersion     func(version *int32) NCCLResult                                                                          `sym:"ncclGetVersion"`
	GetErrorString func(code NCCLResult) *byte                                                                              `sym:"ncclGetErrorString"`
	CommInitAll    func(comms *uintptr, count int32, ordinals *int32) NCCLResult                                            `sym:"ncclCommInitAll"`
	CommDestroy    func(comm uintptr) NCCLResult                                                                            `sym:"ncclCommDestroy"`
	AllReduce      func(send, recv DevicePtr, count uintptr, kind NCCLType, op NCCLOp, comm, stream uintptr) NCCLResult     `sym:"ncclAllReduce"`
	AllGather      func(send, recv DevicePtr, sendCount uintptr, kind NCCLType, comm, stream uintptr) NCCLResult            `sym:"ncclAllGather"`
	ReduceScatter  func(send, recv DevicePtr, recvCount uintptr, kind NCCLType, op NCCLOp, comm, stream uintptr) NCCLResult `sym:"ncclReduceScatter"`
	Send           func(send DevicePtr, count uintptr, kind NCCLType, peer int32, comm, stream uintptr) NCCLResult          `sym:"ncclSend"`
	Recv           func(recv DevicePtr, count uintptr, kind NCCLType, peer int32, comm, stream uintptr) NCCLResult          `sym:"ncclRecv"`
	GroupStart     func() NCCLResult                                                                                        `sym:"ncclGroupStart"`
	GroupEnd       func() NCCLResult                                                                                        `sym:"ncclGroupEnd"`
}

// NCCLResult is an ncclResult_t; 0 is success.
type NCCLResult int32

// NCCLType is an ncclDataType_t.
type NCCLType int32

// The element types that peerproof uses, from nccl.h.
const (
	NCCLUint8   NCCLType = 1
	NCCLInt32   NCCLType = 2
	NCCLUint64  NCCLType = 5
	NCCLFloat32 NCCLType = 7
)

// Size is the bytes of an element; 0 where the type is none of the above.
func (t NCCLType) Size() uint64 {
	return map[NCCLType]uint64{NCCLUint8: 1, NCCLInt32: 4, NCCLUint64: 8, NCCLFloat32: 4}[t]
}

// NCCLOp is an ncclRedOp_t.
type NCCLOp int32

// NCCLSum adds elements.
const NCCLSum NCCLOp = 0

// NCCLError is a call that NCCL did not answer with success.
type NCCLError struct {
	Op   string
	Code NCCLResult
	Text string // NCCL's description of Code; may be empty
}

func (e *NCCLError) Error() string { return fmt.Sprintf("%s: result %d: %s", e.Op, e.Code, e.Text) }

// OpenNCCL opens the library. The error is ErrNoNCCL where there is none, and
// else names what is wrong with it.
func OpenNCCL() (*NCCL, error) {
	n := &NCCL{}
	missing, err := open(ncclLibrary, n)
	if err != nil {
		// The dynamic linker tells a library that is not there from one that it
		// cannot use by its words alone.
		if strings.Contains(err.Error(), ncclLibrary+": cannot open shared object file: No such file") {
			return nil, fmt.Errorf("%w: %w", ErrNoNCCL, err)
		}
		return nil, err
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%s lacks %s", ncclLibrary, strings.Join(missing, ", "))
	}
	return n, nil
}

// NCCL opens the collective library. The error is ErrNoNCCL where there is none.
func (b *Bundle) NCCL() (*NCCL, error) {
	if b.OpenNCCL == nil {
		return nil, ErrNoNCCL
	}
	return b.OpenNCCL()
}
