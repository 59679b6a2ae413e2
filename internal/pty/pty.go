// Package pty opens pseudo-terminals, for tests of what a terminal is sent.
package pty

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Open makes a pseudo-terminal of so many columns; 0 is one that does not know
// its width. What is written to terminal can be read from screen, which ends
// with an error once no program has terminal open. An error means that the
// machine gives no pseudo-terminal.
func Open(columns int) (screen, terminal *os.File, err error) {
	screen, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			_ = screen.Close() // the error that matters is the first
		}
	}()
	fd := int(screen.Fd())
	if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, fmt.Errorf("unlock a pseudo-terminal: %w", err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, fmt.Errorf("name a pseudo-terminal: %w", err)
	}
	if err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}); err != nil {
		return nil, nil, fmt.Errorf("size a pseudo-terminal: %w", err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	return screen, terminal, err
}
