package cuda

import (
	"errors"
	"strings"
	"testing"
)

func TestOpenNCCL(t *testing.T) {
	n, err := OpenNCCL()
	if err != nil {
		if !errors.Is(err, ErrNoNCCL) || !strings.Contains(err.Error(), ncclLibrary) {
			t.Fatal(err)
		}
		t.Skipf("no NCCL here: %v", err)
	}
	if version, err := n.Version(); err != nil || version < 2000 {
		t.Errorf("version is %d, %v", version, err)
	}
}

func TestBundleNCCL(t *testing.T) {
	if _, err := (&Bundle{}).NCCL(); !errors.Is(err, ErrNoNCCL) {
		t.Errorf("a bundle without NCCL: %v", err)
	}
	table := &NCCL{}
	if n, err := (&Bundle{OpenNCCL: func() (*NCCL, error) { return table, nil }}).NCCL(); n != table || err != nil {
		t.Errorf("the bundle's NCCL is %v, %v", n, err)
	}
}

func TestCommunicators(t *testing.T) {
	r := newRig(t)
	r.to.ptr = 0x71000 // the fake gives all the same
	n := r.fake.nccl()
	r.fake.all()
	comms := must[[]*Communicator](t)(n.Communicators(r.a, r.b))
	if got := r.fake.last(); !strings.HasSuffix(got, "CommInitAll [0 1]") {
		t.Errorf("NCCL was asked %q", got)
	}
	a, b := comms[0], comms[1]
	if a.Rank != 0 || b.Rank != 1 || a.Size != 2 || b.Size != 2 {
		t.Errorf("ranks are %+v and %+v", a, b)
	}
	for _, c := range []struct {
		name string
		call func() error
		want string
	}{
		{"all-reduce", func() error { return a.AllReduce(r.from, r.to, 25, NCCLFloat32, NCCLSum, r.stream) }, "a0 AllReduce 70000 71000 25 7 0 cc0 c001"},
		{"all-gather", func() error { return b.AllGather(r.to, r.from, 50, NCCLUint8, r.stream) }, "b0 AllGather 71000 70000 50 1 cc1 c001"},
		{"reduce-scatter", func() error { return b.ReduceScatter(r.to, r.from, 6, NCCLUint64, NCCLSum, r.stream) }, "b0 ReduceScatter 71000 70000 6 5 0 cc1 c001"},
		{"send", func() error { return a.Send(r.from, 25, NCCLInt32, 1, r.stream) }, "a0 Send 70000 25 2 1 cc0 c001"},
		{"receive", func() error { return b.Recv(r.to, 100, NCCLUint8, 0, r.stream) }, "b0 Recv 71000 100 1 0 cc1 c001"},
		{"close", func() error { return errors.Join(b.Close(), b.Close()) }, "b0 CommDestroy cc1"},
	} {
		if err := c.call(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := r.fake.last(); got != c.want {
			t.Errorf("%s: NCCL was asked %q, want %q", c.name, got, c.want)
		}
	}
	// Each end's buffer has to hold what its rank sends or receives.
	for name, call := range map[string]func() error{
		"all-reduce sends":        func() error { return a.AllReduce(r.from, r.to, 26, NCCLFloat32, NCCLSum, r.stream) },
		"all-gather receives":     func() error { return a.AllGather(r.from, r.to, 51, NCCLUint8, r.stream) },
		"reduce-scatter sends":    func() error { return a.ReduceScatter(r.from, r.to, 7, NCCLUint64, NCCLSum, r.stream) },
		"send":                    func() error { return a.Send(r.from, 101, NCCLUint8, 1, r.stream) },
		"receive":                 func() error { return a.Recv(r.to, 13, NCCLUint64, 1, r.stream) },
		"count wraps":             func() error { return a.AllGather(r.from, r.to, 1<<63, NCCLUint8, r.stream) },
		"an unknown type":         func() error { return a.Send(r.from, 1, 99, 1, r.stream) },
		"nothing":                 func() error { return a.Send(r.from, 0, NCCLUint8, 1, r.stream) },
		"no GPU in a clique":      func() error { _, err := n.Communicators(); return err },
		"receive in a closed one": func() error { return a.Recv(&Buffer{context: r.a, bytes: 100}, 1, NCCLUint8, 1, r.stream) },
	} {
		if err := call(); err == nil {
			t.Errorf("%s: no error", name)
		}
		r.want(t)
	}
}

func TestNCCLErrors(t *testing.T) {
	r := newRig(t)
	n := r.fake.nccl()
	comms := must[[]*Communicator](t)(n.Communicators(r.a))
	r.a.Device().Slot = 3
	r.fake.results["AllReduce"] = 7
	err := comms[0].AllReduce(r.from, r.to, 1, NCCLUint8, NCCLSum, r.stream)
	var e *NCCLError
	if !errors.As(err, &e) || e.Code != 7 || err.Error() != "gpu3: ncclAllReduce: result 7: remote process exited" {
		t.Errorf("error is %v", err)
	}
	r.fake.results["CommInitAll"] = 5
	if _, err := n.Communicators(r.a); err == nil {
		t.Error("a clique that could not be made has no error")
	}
	// The group is ended, and both errors told, whatever fails in it.
	r.fake.all()
	mine := errors.New("mine")
	r.fake.results["GroupEnd"] = 7
	if err := n.Group(func() error { return mine }); !errors.Is(err, mine) || !errors.As(err, &e) {
		t.Errorf("error is %v", err)
	}
	if calls := r.fake.all(); len(calls) != 2 {
		t.Errorf("NCCL was asked %q", calls)
	}
	r.fake.results["GroupStart"] = 7
	if err := n.Group(func() error { t.Error("a group that did not start ran"); return nil }); err == nil {
		t.Error("no error")
	}
	if version, err := n.Version(); version != 22803 || err != nil {
		t.Errorf("version is %d, %v", version, err)
	}
	// What was asked of the driver before failed: NCCL is not asked.
	r.fake.results["CtxSetCurrent"] = ErrInvalidContext
	r.fake.all()
	if err := comms[0].Send(r.from, 1, NCCLUint8, 0, r.stream); err == nil {
		t.Error("no error")
	}
	r.want(t)
}
