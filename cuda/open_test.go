package cuda

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestBindNamesEveryMissingSymbol(t *testing.T) {
	gone := []string{"cuDeviceGetUuid_v2", "cuMemcpyPeerAsync", "cuLaunchKernel"}
	api := &API{}
	err := bind(api, func(symbol string) uintptr {
		if slices.Contains(gone, symbol) {
			return 0
		}
		return 1 // never called here
	})
	var missing *MissingSymbolsError
	if !errors.As(err, &missing) || !slices.Equal(missing.Symbols, gone) {
		t.Fatalf("error is %v, want one that lists %v", err, gone)
	}
	for _, symbol := range gone {
		if !strings.Contains(err.Error(), symbol) {
			t.Errorf("%q does not name %s", err, symbol)
		}
	}
	if api.Init == nil || api.LaunchKernel != nil {
		t.Error("the table does not hold exactly the functions found")
	}
}

func TestEveryFunctionOfTheTableHasASymbol(t *testing.T) {
	table := reflect.TypeFor[API]()
	for i := range table.NumField() {
		field := table.Field(i)
		if symbol := field.Tag.Get("sym"); field.Name != "Annotate" && !strings.HasPrefix(symbol, "cu") {
			t.Errorf("API.%s has symbol %q", field.Name, symbol)
		}
	}
	if got, want := len(Symbols()), table.NumField()-1; got != want {
		t.Errorf("Symbols lists %d, the table has %d", got, want)
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
	for i := range table.NumField() {
		if table.Field(i).IsNil() {
			t.Errorf("API.%s is not set", table.Type().Field(i).Name)
		}
	}
	api.Annotate("inventory/cuda-init")
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
