package sim

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/peerproof/peerproof/cuda"
)

// ticket is what a handle of shared memory says: where another process finds
// the file that a GPU's memory lies in, and which part of it is meant. The same
// memory is then mapped in both processes.
type ticket struct {
	Magic        [8]byte
	Process      int32 // /proc/PID/fd/FD is the file
	FD           int32
	GPU          uuid
	Start, Bytes uint64
}

var ticketMagic = [8]byte{'p', 'e', 'e', 'r', 's', 'i', 'm', '1'}

func (p *process) ipcGetMemHandle(handle *cuda.IPCHandle, ptr cuda.DevicePtr) cuda.Result {
	return p.inContext(func(*context) cuda.Result {
		m, ok := p.find(ptr, 1)
		switch {
		case !ok || m.gpu == host || m.off != 0 || m.origin != plain:
			return cuda.ErrInvalidValue
		}
		owner := p.gpus[m.gpu]
		if owner.memory.share() != nil {
			return cuda.ErrNotSupported
		}
		m.shared = true
		p.wrote(span{m.allocation, 0, uint64(len(m.data))})
		t := ticket{
			Magic: ticketMagic, Process: int32(os.Getpid()), FD: int32(owner.memory.file.Fd()),
			GPU: owner.uuid, Start: m.start, Bytes: uint64(len(m.data)),
		}
		_, err := binary.Encode(handle.Reserved[:], binary.LittleEndian, t)
		if err != nil {
			return cuda.ErrUnknown // the handle is larger than a ticket
		}
		return cuda.Success
	})
}

// share moves the memory into a file that other processes can open, at the
// addresses that it has.
func (a *arena) share() error {
	if a.file != nil {
		return nil
	}
	fd, err := unix.MemfdCreate("peerproof simulated GPU memory", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("memfd_create: %w", err)
	}
	file := os.NewFile(uintptr(fd), "simulated GPU memory")
	if err := a.moveTo(file); err != nil {
		_ = file.Close() // nothing refers to it
		return err
	}
	a.file = file
	return nil
}

func (a *arena) moveTo(file *os.File) error {
	if err := file.Truncate(int64(a.size)); err != nil {
		return fmt.Errorf("memory file: %w", err)
	}
	const page = 64 << 10
	zero := make([]byte, page)
	for at := uint64(0); at < a.size; at += page {
		piece := a.data[at:min(at+page, a.size)]
		if bytes.Equal(piece, zero[:len(piece)]) {
			continue // the file has zeros there, and takes no memory for them
		}
		if _, err := file.WriteAt(piece, int64(at)); err != nil {
			return fmt.Errorf("memory file: %w", err)
		}
	}
	_, err := unix.MmapPtr(int(file.Fd()), 0, unsafe.Pointer(unsafe.SliceData(a.data)), uintptr(a.size),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED)
	runtime.KeepAlive(file)
	if err != nil {
		return fmt.Errorf("memory file: mmap: %w", err)
	}
	return nil
}

func (p *process) ipcOpenMemHandle(ptr *cuda.DevicePtr, handle cuda.IPCHandle, flags uint32) cuda.Result {
	const lazyEnablePeerAccess = 1
	return p.inContext(func(c *context) cuda.Result {
		var t ticket
		_, err := binary.Decode(handle.Reserved[:], binary.LittleEndian, &t)
		switch {
		case err != nil || t.Magic != ticketMagic || flags != lazyEnablePeerAccess:
			return cuda.ErrInvalidValue
		case int(t.Process) == os.Getpid():
			return cuda.ErrInvalidContext // as the driver answers to its own handles
		}
		var owner *gpu
		for _, g := range p.ordinals {
			if g.uuid == t.GPU {
				owner = g
			}
		}
		switch {
		case owner == nil:
			return cuda.ErrInvalidDevice
		case owner.lost:
			return cuda.ErrUnknown
		case owner != c.gpu && !p.canAccess(c.gpu, owner):
			return cuda.ErrPeerAccessUnsupported
		}
		data, skip, err := t.open()
		if err != nil {
			return cuda.ErrInvalidValue // the owner is gone, or no simulated node
		}
		// The flag has the driver enable access to the whole of the other GPU. Here
		// closing the handle does not take it back; of a driver that is not known.
		if other := owner.primary; other != nil && other != c && !slices.Contains(c.peers, other) {
			if r := p.enable(c, other); r != cuda.Success {
				_ = syscall.Munmap(data) // nobody else has seen it
				return r
			}
		}
		m := &allocation{
			gpu: owner.index, at: p.addresses(t.Bytes), start: t.Start, data: data[skip:], origin: imported,
			granted: map[int]int32{c.gpu.index: mayWrite}, shared: true, pages: data,
		}
		p.mapped = with(p.mapped, m)
		*ptr = cuda.DevicePtr(m.at)
		return cuda.Success
	})
}

// open maps the memory that a ticket is for; it begins after the first skip
// bytes.
func (t *ticket) open() (data []byte, skip uint64, err error) {
	file, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", t.Process, t.FD), os.O_RDWR, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("shared memory: %w", err)
	}
	defer func() { _ = file.Close() }() // a mapping stays without it
	info, err := file.Stat()
	if err != nil || t.Bytes == 0 || t.Start > uint64(info.Size()) || t.Bytes > uint64(info.Size())-t.Start {
		return nil, 0, fmt.Errorf("shared memory: %d bytes at %d are not in the file: %w", t.Bytes, t.Start, err)
	}
	skip = t.Start % uint64(os.Getpagesize())
	data, err = syscall.Mmap(int(file.Fd()), int64(t.Start-skip), int(t.Bytes+skip), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, 0, fmt.Errorf("shared memory: mmap: %w", err)
	}
	return data, skip, nil
}

func (p *process) ipcCloseMemHandle(ptr cuda.DevicePtr) cuda.Result {
	return p.inContext(func(c *context) cuda.Result {
		m, ok := p.find(ptr, 1)
		if !ok || m.off != 0 || m.origin != imported {
			return cuda.ErrInvalidValue
		}
		if r := p.settle(c.all()...); r != cuda.Success {
			return r
		}
		p.mapped = without(p.mapped, m.allocation)
		p.forget(m.allocation)
		if syscall.Munmap(m.pages) != nil {
			return cuda.ErrUnknown
		}
		return cuda.Success
	})
}
