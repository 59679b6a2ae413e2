package access

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/peerproof/peerproof/fixtures"
)

var _ = fixtures.Specify("access/self", fixtures.GPUs, Label(),
	"a GPU is not its own peer", func(g *fixtures.GPU) {
		// CUDA_ERROR_INVALID_DEVICE or CUDA_ERROR_PEER_ACCESS_UNSUPPORTED; for the
		// very same context the driver API reference names
		// CUDA_ERROR_INVALID_CONTEXT.
		Expect(g.EnableSelf()).To(fixtures.Answer(101, 217, 201))
	})
