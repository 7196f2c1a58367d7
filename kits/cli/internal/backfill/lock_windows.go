package backfill

import (
	"os"
	"syscall"
	"unsafe"
)

const (
	failImmediately = 0x1
	exclusive       = 0x2
	// Far behind all that is read and written, because a lock of Windows keeps others
	// from reading, too.
	lockedAt = 1 << 30
)

var lockFileEx = syscall.NewLazyDLL("kernel32.dll").NewProc("LockFileEx")

// lock takes the file for this process, until it ends in whatever way.
func lock(file *os.File) error {
	place := syscall.Overlapped{OffsetHigh: lockedAt}
	ok, _, err := lockFileEx.Call(file.Fd(), failImmediately|exclusive, 0, 1, 0, uintptr(unsafe.Pointer(&place)))
	if ok == 0 {
		return err
	}
	return nil
}
