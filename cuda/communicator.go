package cuda

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Version is NCCL's version, as 22803 for 2.28.3.
func (n *NCCL) Version() (int, error) {
	var version int32
	err := n.check("ncclGetVersion", n.GetVersion(&version))
	return int(version), err
}

func (n *NCCL) check(op string, code NCCLResult) error {
	if code == 0 {
		return nil
	}
	e := &NCCLError{Op: op, Code: code}
	if text := n.GetErrorString(code); text != nil {
		e.Text = unix.BytePtrToString(text)
	}
	return e
}

// Group queues what call asks of several communicators as one operation, which
// a single thread must when it drives more than one of them. NCCL keeps the
// group of a thread, so the calls must come from the goroutine of call. Errors
// of the communicators may appear only here.
func (n *NCCL) Group(call func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := n.check("ncclGroupStart", n.GroupStart()); err != nil {
		return err
	}
	err := call()
	return errors.Join(err, n.check("ncclGroupEnd", n.GroupEnd()))
}

// Communicator is a GPU's part of a clique of GPUs, of this process, that do
// collectives together.
type Communicator struct {
	nccl    *NCCL
	context *Context
	handle  uintptr // ncclComm_t
	// Rank is its place among the Size contexts of Communicators.
	Rank, Size int
}

// Communicators makes a clique of the contexts' devices, one communicator each,
// in their order. The caller closes them.
func (n *NCCL) Communicators(contexts ...*Context) ([]*Communicator, error) {
	if len(contexts) == 0 {
		return nil, errors.New("ncclCommInitAll: no context")
	}
	handles, ordinals := make([]uintptr, len(contexts)), make([]int32, len(contexts))
	for i, c := range contexts {
		ordinals[i] = int32(c.device.Ordinal)
	}
	if err := n.check("ncclCommInitAll", n.CommInitAll(&handles[0], int32(len(handles)), &ordinals[0])); err != nil {
		return nil, err
	}
	var comms []*Communicator
	for i, c := range contexts {
		comms = append(comms, &Communicator{nccl: n, context: c, handle: handles[i], Rank: i, Size: len(contexts)})
	}
	return comms, nil
}

// Close destroys the communicator. NCCL waits until what is queued has run.
func (c *Communicator) Close() error {
	if c.handle == 0 {
		return nil
	}
	handle := c.handle
	c.handle = 0
	return c.do("ncclCommDestroy", func() NCCLResult { return c.nccl.CommDestroy(handle) })
}

// do makes a call with the communicator's context current, as NCCL's runtime
// expects.
func (c *Communicator) do(op string, call func() NCCLResult) error {
	var result NCCLResult
	if err := c.context.do(op, func() Result { result = call(); return Success }); err != nil {
		return err
	}
	if err := c.nccl.check(op, result); err != nil {
		return fmt.Errorf("gpu%d: %w", c.context.device.Slot, err)
	}
	return nil
}

// part is the address of so many elements at the start of a buffer.
func part(op string, b *Buffer, count uint64, kind NCCLType) (DevicePtr, error) {
	size := kind.Size()
	if size == 0 || count > b.bytes/size {
		return 0, fmt.Errorf("%s: %d elements of type %d in a buffer of %d bytes", op, count, kind, b.bytes)
	}
	return b.span(op, 0, count*size)
}

// ends are the addresses of what is sent and where it is received.
func ends(op string, send *Buffer, sends uint64, recv *Buffer, recvs uint64, kind NCCLType) (from, to DevicePtr, err error) {
	if from, err = part(op, send, sends, kind); err != nil {
		return 0, 0, fmt.Errorf("send: %w", err)
	}
	if to, err = part(op, recv, recvs, kind); err != nil {
		return 0, 0, fmt.Errorf("receive: %w", err)
	}
	return from, to, nil
}

// AllReduce queues on s, a stream of the communicator's device: every rank's
// count elements of send are reduced, and every rank receives the result.
func (c *Communicator) AllReduce(send, recv *Buffer, count uint64, kind NCCLType, reduce NCCLOp, s *Stream) error {
	const op = "ncclAllReduce"
	from, to, err := ends(op, send, count, recv, count, kind)
	if err != nil {
		return err
	}
	return c.do(op, func() NCCLResult {
		return c.nccl.AllReduce(from, to, uintptr(count), kind, reduce, c.handle, s.handle)
	})
}

// AllGather queues: every rank receives each rank's count elements of send, in
// the order of ranks; recv holds count times Size of them.
func (c *Communicator) AllGather(send, recv *Buffer, count uint64, kind NCCLType, s *Stream) error {
	const op = "ncclAllGather"
	from, to, err := ends(op, send, count, recv, count*uint64(c.Size), kind)
	if err != nil {
		return err
	}
	return c.do(op, func() NCCLResult {
		return c.nccl.AllGather(from, to, uintptr(count), kind, c.handle, s.handle)
	})
}

// ReduceScatter queues: every rank's Size times count elements of send are
// reduced, and rank r receives the r-th count of them.
func (c *Communicator) ReduceScatter(send, recv *Buffer, count uint64, kind NCCLType, reduce NCCLOp, s *Stream) error {
	const op = "ncclReduceScatter"
	from, to, err := ends(op, send, count*uint64(c.Size), recv, count, kind)
	if err != nil {
		return err
	}
	return c.do(op, func() NCCLResult {
		return c.nccl.ReduceScatter(from, to, uintptr(count), kind, reduce, c.handle, s.handle)
	})
}

// Send queues sending count elements to a rank that receives them. Sends and
// receives that depend on one another belong into one Group.
func (c *Communicator) Send(send *Buffer, count uint64, kind NCCLType, peer int, s *Stream) error {
	const op = "ncclSend"
	from, err := part(op, send, count, kind)
	if err != nil {
		return err
	}
	return c.do(op, func() NCCLResult {
		return c.nccl.Send(from, uintptr(count), kind, int32(peer), c.handle, s.handle)
	})
}

// Recv queues receiving count elements that a rank sends.
func (c *Communicator) Recv(recv *Buffer, count uint64, kind NCCLType, peer int, s *Stream) error {
	const op = "ncclRecv"
	to, err := part(op, recv, count, kind)
	if err != nil {
		return err
	}
	return c.do(op, func() NCCLResult {
		return c.nccl.Recv(to, uintptr(count), kind, int32(peer), c.handle, s.handle)
	})
}
