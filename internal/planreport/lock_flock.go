//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package planreport

import (
	"os"
	"syscall"
	"time"
)

// lockWait is how long a process waits for others to write their reports.
const lockWait = time.Minute

// lock keeps other processes from writing reports in a folder at the same time. It locks the folder
// itself, so that no lock file is left behind. A report in a folder that cannot be locked is
// written without a lock. late is true if another process held the lock for too long.
func lock(dir string) (unlock func(), late bool) {
	opened, err := os.Open(dir) //nolint:gosec // The path is from the user's own environment.
	if err != nil {
		return func() {}, false
	}
	const pause = 5 * time.Millisecond
	for began := time.Now(); time.Since(began) < lockWait; time.Sleep(pause) {
		err = syscall.Flock(int(opened.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR { //nolint:errorlint // A system call returns its number.
			break
		}
	}
	return func() { _ = opened.Close() }, err == syscall.EWOULDBLOCK //nolint:errorlint // As above.
}
