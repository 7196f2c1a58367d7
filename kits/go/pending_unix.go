//go:build unix

package leads

import "syscall"

// pending reports whether bytes have come that nobody has read yet.
func (w *wire) pending() bool {
	conn, ok := w.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	err = raw.Control(func(fd uintptr) {
		n, _, _ = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
	})
	return err == nil && n > 0
}
