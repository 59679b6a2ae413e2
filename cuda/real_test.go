package cuda

import (
	"bufio"
	"debug/elf"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// A binary that binds all symbols at its start ends in the dynamic linker on a
// machine without NVML. `make` links with -z lazy; compilers of some
// distributions default to the opposite.
func TestBinaryBindsLazily(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	for tag, now := range map[elf.DynTag]uint64{
		elf.DT_BIND_NOW: ^uint64(0),
		elf.DT_FLAGS:    uint64(elf.DF_BIND_NOW),
		elf.DT_FLAGS_1:  uint64(elf.DF_1_NOW),
	} {
		values, err := binary.DynValue(tag)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			if v&now != 0 {
				t.Errorf("%v is %#x: link with -Wl,-z,lazy", tag, v)
			}
		}
	}
	libraries, err := binary.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, library := range libraries {
		if strings.Contains(library, "cuda") || strings.Contains(library, "nvidia") {
			t.Errorf("the binary needs %s at its start", library)
		}
	}
}

func TestRealBundle(t *testing.T) {
	b := Real()
	if b.Host.Name == "" {
		t.Error("the host has no name")
	}
	t.Setenv("CUDA_VISIBLE_DEVICES", "1")
	if got := b.Host.Getenv("CUDA_VISIBLE_DEVICES"); got != "1" {
		t.Errorf("CUDA_VISIBLE_DEVICES is %q", got)
	}
	// /proc/self is a symbolic link, as much of sysfs is.
	if name, err := fs.ReadFile(b.Host.FS, "proc/self/comm"); err != nil || len(name) == 0 {
		t.Errorf("proc/self/comm is %q, %v", name, err)
	}
	if ret := b.NVML.Init(); ret == nvml.SUCCESS {
		defer b.NVML.Shutdown()
		if !HasNVML(b.NVML, "nvmlInit_v2") || HasNVML(b.NVML, "nvmlNoSuchFunction") {
			t.Error("HasNVML does not tell what is there from what is not")
		}
	} else if HasNVML(b.NVML, "nvmlNoSuchFunction") {
		t.Errorf("NVML answered %v and yet has any function", ret)
	}
}

func TestKernelLogIsFollowedFromItsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kmsg")
	if err := os.WriteFile(path, []byte("6,1,1,-;old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := followKernelLog(path)
	if err != nil {
		t.Fatal(err)
	}
	kernel, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Close()
	want := "3,2,2,-;NVRM: Xid (PCI:0000:18:00): 79\n"
	if _, err := io.WriteString(kernel, want); err != nil {
		t.Fatal(err)
	}
	// A record that is longer than the reader's buffer comes in parts.
	got, err := bufio.NewReaderSize(log, 16).ReadString('\n')
	if err != nil || got != want {
		t.Errorf("the log reads %q, %v, want %q", got, err, want)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("reading a closed log: %v", err)
	}
}

func TestKernelLogErrors(t *testing.T) {
	if err := permission(&fs.PathError{Op: "open", Path: "/dev/kmsg", Err: syscall.EPERM}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v hides fs.ErrPermission", err)
	}
	if _, err := followKernelLog("/nonexistent/kmsg"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a log that does not exist: %v", err)
	}
	if !lapped(&fs.PathError{Op: "read", Path: "/dev/kmsg", Err: syscall.EPIPE}) || lapped(io.EOF) || lapped(nil) {
		t.Error("overwritten records are not told from other errors")
	}
}
