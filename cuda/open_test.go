package cuda

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestBindNamesEveryMissingSymbol(t *testing.T) {
	gone := []string{"cuDeviceGetUuid_v2", "cuMemcpyPeerAsync", "cuLaunchKernel", "cuMemCreate"}
	api := &API{}
	missing := bind(api, func(symbol string) uintptr {
		if slices.Contains(gone, symbol) {
			return 0
		}
		return 1 // never called here
	})
	if want := gone[:3]; !slices.Equal(missing, want) { // the last may be missing
		t.Fatalf("missing are %v, want %v", missing, want)
	}
	err := &MissingSymbolsError{missing}
	for _, symbol := range missing {
		if !strings.Contains(err.Error(), symbol) {
			t.Errorf("%q does not name %s", err, symbol)
		}
	}
	if api.MemCreate != nil || api.MemMap == nil {
		t.Error("an optional function is not set exactly where it is found")
	}
	if api.Init == nil || api.LaunchKernel != nil {
		t.Error("the table does not hold exactly the functions found")
	}
}

func TestEveryFunctionOfATableHasASymbol(t *testing.T) {
	for _, c := range []struct {
		table  reflect.Type
		prefix string
	}{
		{reflect.TypeFor[API](), "cu"},
		{reflect.TypeFor[NCCL](), "nccl"},
	} {
		found := map[int]string{}
		for _, f := range functions(c.table) {
			found[f.field] = f.symbol
		}
		for i := range c.table.NumField() {
			if name := c.table.Field(i).Name; !strings.HasPrefix(found[i], c.prefix) {
				t.Errorf("%v.%s has symbol %q", c.table, name, found[i])
			}
		}
	}
	required, optional := Symbols(), OptionalSymbols()
	if !slices.Contains(required, "cuInit") || slices.Contains(required, "cuMemCreate") || !slices.Contains(optional, "cuMemCreate") ||
		len(required)+len(optional) != reflect.TypeFor[API]().NumField() {
		t.Errorf("required are %v, optional %v", required, optional)
	}
}

// Where the library is installed every symbol is found; where it is not, the
// error is the dynamic linker's. Neither needs a GPU.
func TestOpenCUDA(t *testing.T) {
	api, err := OpenCUDA()
	if err != nil {
		if want := "dlopen: " + library; !strings.HasPrefix(err.Error(), want) {
			t.Fatalf("error is %q, want it to begin with %q", err, want)
		}
		t.Skipf("no CUDA driver here: %v", err)
	}
	table := reflect.ValueOf(api).Elem()
	for _, f := range functions(table.Type()) {
		switch set := !table.Field(f.field).IsNil(); {
		case !set && f.optional:
			t.Logf("the driver lacks %s", f.symbol)
		case !set:
			t.Errorf("%s is not set", f.symbol)
		}
	}
	driver := NewDriver(api)
	version, err := driver.Version()
	if err != nil || version < 9000 {
		t.Errorf("version is %d, %v", version, err)
	}
	err = driver.Init()
	t.Logf("version %d, cuInit: %v", version, err)
	if code, ok := Code(err); err != nil && (!ok || code == Success || strings.Contains(err.Error(), "CUresult(")) {
		t.Errorf("cuInit: %v", err)
	}
}
