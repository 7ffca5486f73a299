//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package planreport

// lock does nothing: a folder cannot be locked here. The guide recommends a file for each owner.
func lock(string) (unlock func(), late bool) { return func() {}, false }
