package cuda

import (
	"fmt"
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
	api := new(API)
	missing, err := open(library, api)
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return nil, &MissingSymbolsError{missing}
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

// Symbols are the exported names of the functions of the table that every
// driver must have, in its order.
func Symbols() []string { return symbols(false) }

// OptionalSymbols are the names of those that may be missing, in its order.
func OptionalSymbols() []string { return symbols(true) }

func symbols(optional bool) []string {
	var names []string
	for _, f := range functions(reflect.TypeFor[API]()) {
		if f.optional == optional {
			names = append(names, f.symbol)
		}
	}
	return names
}

// function is a field of a table that stands for a symbol.
type function struct {
	field    int
	symbol   string
	optional bool
}

func functions(table reflect.Type) []function {
	var found []function
	for i := range table.NumField() {
		symbol, option, _ := strings.Cut(table.Field(i).Tag.Get("sym"), ",")
		if symbol != "" {
			found = append(found, function{i, symbol, option == "optional"})
		}
	}
	return found
}

// bind fills a table, given by pointer, with the functions that lookup finds;
// 0 is not found. It returns the symbols that are missing, optional ones left out.
func bind(table any, lookup func(symbol string) uintptr) (missing []string) {
	v := reflect.ValueOf(table).Elem()
	for _, f := range functions(v.Type()) {
		address := lookup(f.symbol)
		switch {
		case address != 0:
			purego.RegisterFunc(v.Field(f.field).Addr().Interface(), address)
		case !f.optional:
			missing = append(missing, f.symbol)
		}
	}
	return missing
}

// open opens a library and binds a table to it. It stays open for the life of
// the process.
func open(library string, table any) (missing []string, err error) {
	// dlerror's text belongs to the thread that dlopen or dlsym ran on.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	handle, err := purego.Dlopen(library, purego.RTLD_LAZY|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("dlopen: %w", err)
	}
	return bind(table, func(symbol string) uintptr {
		address, err := purego.Dlsym(handle, symbol)
		if err != nil {
			return 0
		}
		return address
	}), nil
}
