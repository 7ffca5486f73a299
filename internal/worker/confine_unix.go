//go:build unix

package worker

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// takePipes returns the pipes to the parent. Standard input and output become the null
// device, so that a library that reads or prints does not disturb the frames.
func takePipes() (in, out *os.File, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the null device: %w", err)
	}
	in, err = takePipe(0, null)
	if err != nil {
		return nil, nil, err
	}
	out, err = takePipe(1, null)

	return in, out, errors.Join(err, null.Close())
}

// takePipe moves a descriptor to another number and replaces it by null.
func takePipe(descriptor int, null *os.File) (*os.File, error) {
	taken, err := unix.FcntlInt(uintptr(descriptor), unix.F_DUPFD_CLOEXEC, firstInherited)
	if err != nil {
		return nil, fmt.Errorf("duplicating descriptor %d: %w", descriptor, err)
	}
	if err := dup2(int(null.Fd()), descriptor); err != nil {
		return nil, fmt.Errorf("replacing descriptor %d: %w", descriptor, err)
	}

	return os.NewFile(uintptr(taken), "parent"), nil
}

// firstInherited is the first number after the three standard descriptors.
const firstInherited = 3

// closeInherited closes files that the parent inherited itself and passed on. They have no
// close-on-exec mark, unlike the files of the Go runtime and the pipes to the parent.
func closeInherited() error {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return fmt.Errorf("listing the open files: %w", err)
	}
	for _, entry := range entries {
		descriptor, err := strconv.Atoi(entry.Name())
		if err != nil || descriptor < firstInherited {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(descriptor), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(descriptor) // It was open a moment ago.
		}
	}

	return nil
}

// limitDescriptors denies new descriptors. Open ones remain.
func limitDescriptors() error {
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("setting RLIMIT_NOFILE: %w", err)
	}

	return nil
}

// cpuTime returns the CPU time of this process.
func cpuTime() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0 // The limit by the clock remains.
	}

	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
