package cuda

import (
	"bytes"
	"fmt"

	"golang.org/x/sys/unix"
)

// Module is a PTX module loaded in a context.
type Module struct {
	context *Context
	handle  uintptr // CUmodule
}

// LoadModule compiles PTX for the context's device and loads it. The driver
// keeps what it compiled in its cache, so only the first time takes long.
func (c *Context) LoadModule(ptx []byte) (*Module, error) {
	if !bytes.HasSuffix(ptx, []byte{0}) {
		ptx = append(bytes.Clone(ptx), 0)
	}
	m := &Module{context: c}
	if err := c.do("cuModuleLoadData", func() Result { return c.api.ModuleLoadData(&m.handle, &ptx[0]) }); err != nil {
		return nil, err
	}
	return m, nil
}

// Close unloads the module with its functions.
func (m *Module) Close() error {
	if m.handle == 0 {
		return nil
	}
	handle := m.handle
	m.handle = 0
	return m.context.do("cuModuleUnload", func() Result { return m.context.api.ModuleUnload(handle) })
}

// Function is a kernel of a module.
type Function struct {
	module *Module
	name   string
	handle uintptr // CUfunction
}

// Function finds a kernel by its name. Where the driver loads lazily, this
// loads the kernel, so that its first launch need not wait for the device.
func (m *Module) Function(name string) (*Function, error) {
	symbol, err := unix.BytePtrFromString(name)
	if err != nil {
		return nil, fmt.Errorf("cuModuleGetFunction: name %q: %w", name, err)
	}
	f := &Function{module: m, name: name}
	if err := m.context.do("cuModuleGetFunction", func() Result {
		return m.context.api.ModuleGetFunction(&f.handle, m.handle, symbol)
	}); err != nil {
		return nil, fmt.Errorf("kernel %s: %w", name, err)
	}
	return f, nil
}

// Name is the kernel's name.
func (f *Function) Name() string { return f.name }
