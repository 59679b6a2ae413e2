package sim

import "github.com/peerproof/peerproof/cuda"

// errorTexts are what the driver says of the results that a simulated node can
// give, in the words of its reference.
var errorTexts = map[cuda.Result]string{
	cuda.Success:                  "no error",
	cuda.ErrInvalidValue:          "invalid argument",
	cuda.ErrOutOfMemory:           "out of memory",
	cuda.ErrNotInitialized:        "initialization error",
	cuda.ErrDeviceUnavailable:     "CUDA-capable device(s) is/are busy or unavailable",
	cuda.ErrNoDevice:              "no CUDA-capable device is detected",
	cuda.ErrInvalidDevice:         "invalid device ordinal",
	cuda.ErrInvalidContext:        "invalid device context",
	cuda.ErrPeerAccessUnsupported: "peer access is not supported between these two devices",
	cuda.ErrInvalidHandle:         "invalid resource handle",
	cuda.ErrNotFound:              "named symbol not found",
	cuda.ErrNotReady:              "device not ready",
	cuda.ErrIllegalAddress:        "an illegal memory access was encountered",
	cuda.ErrPeerAlreadyEnabled:    "peer access is already enabled",
	cuda.ErrPeerNotEnabled:        "peer access has not been enabled",
	cuda.ErrTooManyPeers:          "peer mapping resources exhausted",
	cuda.ErrContextIsDestroyed:    "context is destroyed",
	cuda.ErrNotSupported:          "operation not supported",
	cuda.ErrSystemNotReady:        "system not yet initialized",
	cuda.ErrSystemDriverMismatch:  "system has unsupported display driver / cuda driver combination",
	cuda.ErrUnknown:               "unknown error",
	errIllegalState:               "the operation cannot be performed in the present state",
	errCaptureUnsupported:         "operation not permitted when stream is capturing",
	errCaptureInvalidated:         "operation failed due to a previous error during capture",
	errCaptureIsolation:           "dependency created on uncaptured work in another stream",
}

func getErrorName(code cuda.Result, name **byte) cuda.Result {
	*name = cString(code.String())
	return cuda.Success
}

// getErrorString has no text for results that only a fault of the file gives.
func getErrorString(code cuda.Result, text **byte) cuda.Result {
	known, ok := errorTexts[code]
	if !ok {
		return cuda.ErrInvalidValue
	}
	*text = cString(known)
	return cuda.Success
}
