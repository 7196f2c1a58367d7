//go:build linux || darwin

package terminal

import (
	"os"
	"syscall"
	"unsafe"
)

// Is reports whether file is a terminal.
func Is(file *os.File) bool {
	_, err := attributes(file)
	return err == nil
}

// hide keeps the terminal from showing what is typed, and returns what undoes it.
func hide(file *os.File) (show func(), err error) {
	before, err := attributes(file)
	if err != nil {
		return nil, err
	}
	hidden := *before
	hidden.Lflag &^= syscall.ECHO
	hidden.Lflag |= syscall.ICANON | syscall.ISIG
	if err := control(file, setAttributes, &hidden); err != nil {
		return nil, err
	}
	return func() { control(file, setAttributes, before) }, nil
}

func attributes(file *os.File) (*syscall.Termios, error) {
	var termios syscall.Termios
	if err := control(file, getAttributes, &termios); err != nil {
		return nil, err
	}
	return &termios, nil
}

// control leaves the file's mode alone, unlike what uses File.Fd.
func control(file *os.File, request uintptr, termios *syscall.Termios) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var errno syscall.Errno
	if err := raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(termios)))
	}); err != nil {
		return err
	}
	if errno != 0 {
		return errno
	}
	return nil
}
