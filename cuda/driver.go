package cuda

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Driver is the CUDA driver API with Go's types. It and everything made from
// it may be used from any goroutine: each call sets the context that it needs
// on its own OS thread. Errors of the driver are *Error.
type Driver struct {
	api *API
}

// NewDriver makes a driver of a table of C functions.
func NewDriver(api *API) *Driver { return &Driver{api: api} }

// Init starts the driver. Every other call but Version needs it before.
func (d *Driver) Init() error {
	return d.check("cuInit", -1, d.api.Init(0))
}

// Version is the newest CUDA version that the driver supports, 1000 times the
// major and 10 times the minor number: 13000 is 13.0.
func (d *Driver) Version() (int, error) {
	var version int32
	err := d.check("cuDriverGetVersion", -1, d.api.DriverGetVersion(&version))
	return int(version), err
}

// Count is the number of devices that the process sees.
func (d *Driver) Count() (int, error) {
	var count int32
	err := d.check("cuDeviceGetCount", -1, d.api.DeviceGetCount(&count))
	return int(count), err
}

// Device is the device with a CUDA ordinal, 0 to Count-1.
func (d *Driver) Device(ordinal int) (*Device, error) {
	dev := &Device{Ordinal: ordinal, Slot: ordinal, driver: d}
	err := dev.check("cuDeviceGet", d.api.DeviceGet(&dev.handle, int32(ordinal)))
	if err != nil {
		return nil, err
	}
	return dev, nil
}

// check turns a result into an error.
func (d *Driver) check(op string, device int, code Result) error {
	if code == Success {
		return nil
	}
	e := &Error{Op: op, Code: code, Name: code.String(), Device: device}
	var text *byte
	if d.api.GetErrorName(code, &text) == Success && text != nil {
		e.Name = unix.BytePtrToString(text)
	}
	text = nil
	if d.api.GetErrorString(code, &text) == Success && text != nil {
		e.Text = unix.BytePtrToString(text)
	}
	return e
}

// Device is a GPU as CUDA lists it.
type Device struct {
	Ordinal int // CUDA's number of it in this process
	// Slot is the number by which errors name the device. It is the ordinal
	// unless the caller, who knows the node, sets it before Retain.
	Slot   int
	driver *Driver
	handle int32
}

func (dev *Device) check(op string, code Result) error {
	return dev.driver.check(op, dev.Slot, code)
}

// Name is the product's name.
func (dev *Device) Name() (string, error) {
	var name [256]byte
	err := dev.check("cuDeviceGetName", dev.driver.api.DeviceGetName(&name[0], int32(len(name)), dev.handle))
	return unix.ByteSliceToString(name[:]), err
}

// UUID is "GPU-" and 32 hexadecimal digits in five groups, as NVML has it.
func (dev *Device) UUID() (string, error) {
	var u [16]byte
	if err := dev.check("cuDeviceGetUuid", dev.driver.api.DeviceGetUUID(&u, dev.handle)); err != nil {
		return "", err
	}
	return fmt.Sprintf("GPU-%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:]), nil
}

// BusID is the PCI address in the form of NormalBusID.
func (dev *Device) BusID() (string, error) {
	var id [32]byte
	if err := dev.check("cuDeviceGetPCIBusId", dev.driver.api.DeviceGetBusID(&id[0], int32(len(id)), dev.handle)); err != nil {
		return "", err
	}
	return NormalBusID(unix.ByteSliceToString(id[:])), nil
}

// Attribute is one of the Attr constants' value.
func (dev *Device) Attribute(attribute int) (int, error) {
	var value int32
	err := dev.check("cuDeviceGetAttribute", dev.driver.api.DeviceAttribute(&value, int32(attribute), dev.handle))
	return int(value), err
}

// CanAccessPeer says whether contexts of the device can be given direct access
// to the memory of peer. A device is not its own peer.
func (dev *Device) CanAccessPeer(peer *Device) (bool, error) {
	var can int32
	err := dev.check("cuDeviceCanAccessPeer", dev.driver.api.CanAccessPeer(&can, dev.handle, peer.handle))
	return can != 0, err
}

// P2PAttribute is one of the P2P constants' value for accesses of the device
// to peer.
func (dev *Device) P2PAttribute(attribute int, peer *Device) (int, error) {
	var value int32
	err := dev.check("cuDeviceGetP2PAttribute", dev.driver.api.P2PAttribute(&value, int32(attribute), dev.handle, peer.handle))
	return int(value), err
}

// Retain takes a reference to the device's primary context, which is made when
// there is none. Close gives it back.
func (dev *Device) Retain() (*Context, error) {
	c := &Context{device: dev, api: dev.driver.api}
	if err := dev.check("cuDevicePrimaryCtxRetain", c.api.PrimaryCtxRetain(&c.handle, dev.handle)); err != nil {
		return nil, err
	}
	return c, nil
}

// NormalBusID writes a PCI address as sysfs does: lower case, a domain of at
// least four digits, bus, device and function: "0000:18:00.0". It takes CUDA's
// form, NVML's with eight digits of domain ("00000000:18:00.0"), one without a
// domain, and the kernel log's without a function ("0000:18:00"). Anything else
// is returned as it is.
func NormalBusID(id string) string {
	address, function, hasFunction := strings.Cut(strings.TrimSpace(id), ".")
	if !hasFunction {
		function = "0"
	}
	parts := strings.Split(address, ":")
	if len(parts) == 2 {
		parts = append([]string{"0"}, parts...)
	}
	if len(parts) != 3 {
		return id
	}
	var n [4]uint64
	for i, part := range append(parts, function) {
		v, err := strconv.ParseUint(part, 16, [...]int{32, 8, 5, 3}[i])
		if err != nil {
			return id
		}
		n[i] = v
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", n[0], n[1], n[2], n[3])
}
