//go:build !linux && !darwin && !windows

package terminal

import "os"

// Is reports whether file is a device that is read and written character by
// character, which is as near to a terminal as the standard library knows here.
func Is(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func hide(*os.File) (show func(), err error) { return nil, ErrUnsupported }
