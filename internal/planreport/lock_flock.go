//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package planreport

import (
	"os"
	"syscall"
	"time"
)

// lockWait is how long a process waits for another one to write its report.
const lockWait = 5 * time.Second

// lock keeps other processes from writing reports in a folder at the same time. It locks the folder
// itself, so that no lock file is left behind. If the folder cannot be locked, reports are written
// without a lock.
func lock(dir string) (unlock func()) {
	opened, err := os.Open(dir) //nolint:gosec // The path is from the user's own environment.
	if err != nil {
		return func() {}
	}
	const pause = 5 * time.Millisecond
	for began := time.Now(); time.Since(began) < lockWait; time.Sleep(pause) {
		err = syscall.Flock(int(opened.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR { //nolint:errorlint // A system call returns its number.
			break
		}
	}
	return func() { _ = opened.Close() }
}
