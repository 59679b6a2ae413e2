package cuda

import (
	"errors"
	"fmt"
)

// UnavailableError is a call that this driver or device cannot make at all,
// found out without making it.
type UnavailableError struct {
	Op string // the C function
	// TooOld says that the driver lacks the function; else the device's
	// attributes say that it does not support what the function does.
	TooOld bool
	Device int // as Device.Slot names it
}

func (e *UnavailableError) Error() string {
	if e.TooOld {
		return fmt.Sprintf("%s: the driver is too old", e.Op)
	}
	return fmt.Sprintf("%s: not supported by gpu%d", e.Op, e.Device)
}

// Unavailable says that err is an *UnavailableError: what was asked for does
// not exist here, and nothing was tried.
func Unavailable(err error) bool {
	var e *UnavailableError
	return errors.As(err, &e)
}

// need is the error of an optional function that the driver lacks.
func need(op string, have ...bool) error {
	for _, h := range have {
		if !h {
			return &UnavailableError{Op: op, TooOld: true, Device: -1}
		}
	}
	return nil
}

// supports asks an attribute of the device that is 1 where it can do op.
func (dev *Device) supports(op string, attribute int) error {
	can, err := dev.Attribute(attribute)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", op, err)
	case can == 0:
		return &UnavailableError{Op: op, Device: dev.Slot}
	}
	return nil
}
