package kernels

import _ "embed"

// The architecture is the oldest that peerproof tests (V100); the driver
// compiles its PTX for every newer one. PTX 6.0 is what drivers of that time
// read, and the first with scoped memory operations.
//go:generate clang-19 -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 -Xclang -target-feature -Xclang +ptx60 -nocudainc -nocudalib -O3 -S -I device -o kernels.ptx kernels.cu

//go:embed kernels.ptx
var ptx string

// PTX is the compiled kernels, with the NUL byte that the driver expects.
func PTX() []byte { return append([]byte(ptx), 0) }
