//go:build !windows && (!unix || solaris || aix)

package backfill

import "os"

// lock does nothing where the standard library knows no lock that ends with the
// process: two runs at once repeat each other's posts, which the service stores once.
func lock(*os.File) error { return nil }
