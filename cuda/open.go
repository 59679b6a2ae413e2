package cuda

import (
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"strings"

	"github.com/ebitengine/purego"
)

const library = "libcuda.so.1"

// OpenCUDA opens the driver library and finds every symbol of the table. It
// fails with the dynamic linker's text where there is no library, and with a
// *MissingSymbolsError where the driver is too old. The library stays open for
// the life of the process: the driver cannot be unloaded safely.
func OpenCUDA() (*API, error) {
	// dlerror's text belongs to the thread that dlopen or dlsym ran on.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	handle, err := purego.Dlopen(library, purego.RTLD_LAZY|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("dlopen: %w", err)
	}
	api := &API{Annotate: func(string) {}}
	if err := bind(api, func(symbol string) uintptr {
		address, err := purego.Dlsym(handle, symbol)
		if err != nil {
			return 0
		}
		return address
	}); err != nil {
		return nil, err
	}
	return api, nil
}

// MissingSymbolsError is a driver library that lacks functions which the table
// needs: the driver is older than those.
type MissingSymbolsError struct {
	Symbols []string // as exported, with their version suffixes
}

func (e *MissingSymbolsError) Error() string {
	return fmt.Sprintf("%s lacks %s: the driver is too old", library, strings.Join(e.Symbols, ", "))
}

// Symbols are the exported names of the functions of the table, in its order.
func Symbols() []string {
	var names []string
	for field := range functions() {
		names = append(names, field.Tag.Get("sym"))
	}
	return names
}

// functions are the fields of API that stand for a symbol.
func functions() iter.Seq[reflect.StructField] {
	return func(yield func(reflect.StructField) bool) {
		for _, field := range reflect.VisibleFields(reflect.TypeFor[API]()) {
			if field.Tag.Get("sym") != "" && !yield(field) {
				return
			}
		}
	}
}

// bind fills the table with the functions that lookup finds; 0 is not found.
func bind(api *API, lookup func(symbol string) uintptr) error {
	var missing []string
	table := reflect.ValueOf(api).Elem()
	for field := range functions() {
		symbol := field.Tag.Get("sym")
		address := lookup(symbol)
		if address == 0 {
			missing = append(missing, symbol)
			continue
		}
		purego.RegisterFunc(table.FieldByIndex(field.Index).Addr().Interface(), address)
	}
	if len(missing) > 0 {
		return &MissingSymbolsError{missing}
	}
	return nil
}
