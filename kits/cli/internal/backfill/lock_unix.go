//go:build unix && !solaris && !aix

package backfill

import (
	"os"
	"syscall"
)

// lock takes the file for this process, until it ends in whatever way.
func lock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
