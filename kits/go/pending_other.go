//go:build !unix

package leads

// pending cannot be found out here.
func (w *wire) pending() bool { return false }
