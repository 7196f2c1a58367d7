package terminal

import (
	"os"
	"syscall"
)

const (
	enableProcessedInput = 0x1
	enableLineInput      = 0x2
	enableEchoInput      = 0x4
)

var setConsoleMode = syscall.NewLazyDLL("kernel32.dll").NewProc("SetConsoleMode")

// Is reports whether file is a console.
func Is(file *os.File) bool {
	var mode uint32
	return syscall.GetConsoleMode(syscall.Handle(file.Fd()), &mode) == nil
}

// hide keeps the console from showing what is typed, and returns what undoes it.
func hide(file *os.File) (show func(), err error) {
	handle := syscall.Handle(file.Fd())
	var before uint32
	if err := syscall.GetConsoleMode(handle, &before); err != nil {
		return nil, err
	}
	if err := setMode(handle, before&^enableEchoInput|enableProcessedInput|enableLineInput); err != nil {
		return nil, err
	}
	return func() { setMode(handle, before) }, nil
}

func setMode(handle syscall.Handle, mode uint32) error {
	if ok, _, err := setConsoleMode.Call(uintptr(handle), uintptr(mode)); ok == 0 {
		return err
	}
	return nil
}
