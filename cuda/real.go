package cuda

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"golang.org/x/sys/unix"
)

// Real is the bundle of the machine that the process runs on. Nothing is
// opened yet: neither library has to be installed.
func Real() *Bundle {
	name, err := os.Hostname()
	if err != nil {
		name = "localhost" // uname cannot fail on Linux
	}
	return &Bundle{
		OpenCUDA: OpenCUDA,
		NVML:     nvml.New(),
		OpenNCCL: OpenNCCL,
		Host: Host{
			Name:      name,
			FS:        os.DirFS("/"),
			Environ:   os.Environ,
			KernelLog: func() (io.ReadCloser, error) { return followKernelLog("/dev/kmsg") },
		},
	}
}

// recordSize is more than the kernel writes for one record of /dev/kmsg (its
// limit for records and their dictionary is 8 KiB); a shorter read would fail.
const recordSize = 16 << 10

// kernelLog hands out /dev/kmsg, where each read gives one whole record.
type kernelLog struct {
	file   *os.File
	record []byte // recordSize long, reused
	rest   []byte // what of the record is not yet handed out
}

func followKernelLog(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, permission(err)
	}
	if _, err := file.Seek(0, io.SeekEnd); err != nil {
		_ = file.Close() // opened to read: nothing to lose
		return nil, permission(err)
	}
	return &kernelLog{file: file, record: make([]byte, recordSize)}, nil
}

// permission names the setting that an administrator can change.
func permission(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("kernel log: %w (kernel.dmesg_restrict keeps it to root)", err)
	}
	return fmt.Errorf("kernel log: %w", err)
}

// Read waits for the next record where there is none left. Close ends the wait
// with fs.ErrClosed.
func (l *kernelLog) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		n, err := l.file.Read(l.record)
		if lapped(err) {
			continue
		}
		if err == io.EOF { // as readers of an io.Reader compare it
			return 0, err
		}
		if err != nil {
			return 0, fmt.Errorf("kernel log: %w", err)
		}
		l.rest = l.record[:n]
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// lapped says that the kernel overwrote records before they were read. The
// next read goes on with the oldest that is left.
func lapped(err error) bool { return errors.Is(err, unix.EPIPE) }

// Close ends a Read that waits.
func (l *kernelLog) Close() error { return l.file.Close() }
