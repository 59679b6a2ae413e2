package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// uuid is a GPU's UUID as CUDA gives it.
type uuid [16]byte

// String is the form that NVML and CUDA_VISIBLE_DEVICES use.
func (u uuid) String() string {
	return fmt.Sprintf("GPU-%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}

// newUUID is the same for the same node name and GPU number, and differs for
// any other.
func newUUID(node string, gpu int) (u uuid) {
	sum := sha256.Sum256(fmt.Appendf(nil, "uuid %s %d", node, gpu))
	copy(u[:], sum[:])
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80 // RFC 9562, version 4
	return u
}

// newSerial has 13 digits, as the serial of a data-centre board.
func newSerial(node string, gpu int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "serial %s %d", node, gpu))
	return fmt.Sprintf("16%011d", binary.LittleEndian.Uint64(sum[:])%100_000_000_000)
}
