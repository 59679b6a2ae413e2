package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
)

// The sizes and offsets are those of cuda.h on 64-bit Linux.
func TestLayouts(t *testing.T) {
	var c Memcpy3DPeer
	var prop MemAllocationProp
	var pool MemPoolProps
	var access [2]MemAccessDesc
	dst := unsafe.Offsetof(c.Dst)
	for name, got := range map[string][2]uintptr{
		"CUDA_MEMCPY3D_PEER":      {unsafe.Sizeof(c), 200},
		"srcMemoryType":           {unsafe.Offsetof(c.Src.MemoryType), 32},
		"srcDevice":               {unsafe.Offsetof(c.Src.Device), 48},
		"srcContext":              {unsafe.Offsetof(c.Src.Context), 64},
		"srcPitch":                {unsafe.Offsetof(c.Src.Pitch), 72},
		"srcHeight":               {unsafe.Offsetof(c.Src.PlaneHeight), 80},
		"dstXInBytes":             {dst, 88},
		"dstDevice":               {dst + unsafe.Offsetof(c.Dst.Device), 136},
		"dstPitch":                {dst + unsafe.Offsetof(c.Dst.Pitch), 160},
		"WidthInBytes":            {unsafe.Offsetof(c.WidthInBytes), 176},
		"Depth":                   {unsafe.Offsetof(c.Depth), 192},
		"CUmemAllocationProp":     {unsafe.Sizeof(prop), 32},
		"location":                {unsafe.Offsetof(prop.Location), 8},
		"CUmemPoolProps":          {unsafe.Sizeof(pool), 88},
		"location of a pool":      {unsafe.Offsetof(pool.Location), 8},
		"maxSize":                 {unsafe.Offsetof(pool.MaxSize), 24},
		"CUmemAccessDesc":         {unsafe.Sizeof(access) / 2, 12},
		"flags":                   {unsafe.Offsetof(access[0].Flags), 8},
		"CUipcMemHandle":          {unsafe.Sizeof(IPCHandle{}), 64},
		"what a launch points at": {unsafe.Sizeof(unsafe.Pointer(nil)), 8},
	} {
		if got[0] != got[1] {
			t.Errorf("%s is at or of %d, cuda.h says %d", name, got[0], got[1])
		}
	}
}

// A handle is passed by value, and what a C function gets is what Go gave.
func TestIPCHandleIsPassedByValue(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed")
	}
	dir := t.TempDir()
	source, object := filepath.Join(dir, "ipc.c"), filepath.Join(dir, "ipc.so")
	const text = `
typedef struct { char reserved[64]; } handle;
int cuIpcOpenMemHandle_v2(unsigned long long *ptr, handle h, unsigned int flags)
{
	*ptr = 0;
	for (int i = 0; i < 64; i++)
		*ptr = *ptr * 31 + (unsigned char)h.reserved[i];
	return (int)flags;
}
int cuIpcGetMemHandle(handle *h, unsigned long long ptr)
{
	for (int i = 0; i < 64; i++)
		h->reserved[i] = (char)(ptr + i * 5);
	return 0;
}`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", object, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	library, err := purego.Dlopen(object, purego.RTLD_NOW)
	if err != nil {
		t.Fatal(err)
	}
	api := &API{}
	bind(api, func(symbol string) uintptr {
		address, _ := purego.Dlsym(library, symbol)
		return address
	})
	var h IPCHandle
	if r := api.IPCGetMemHandle(&h, 77); r != Success {
		t.Fatal(r)
	}
	var want DevicePtr
	for i, b := range h.Reserved {
		if b != byte(77+5*i) {
			t.Fatalf("the handle is %x", h.Reserved)
		}
		want = want*31 + DevicePtr(b)
	}
	var got DevicePtr
	if r := api.IPCOpenMemHandle(&got, h, 123456); got != want || r != 123456 {
		t.Errorf("C saw a handle of sum %#x and flags %d, want %#x and 123456", got, r, want)
	}
	if api.IPCCloseMemHandle != nil {
		t.Error("a function that the library lacks is set")
	}
}
