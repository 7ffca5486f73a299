package worker

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// limitProcess sets limits of the kernel for a process. RLIMIT_DATA counts private memory that can
// be written. RLIMIT_AS would count address space, and Go reserves much more of that than it uses.
// A process that has already exited is no error: its end is reported elsewhere.
func limitProcess(pid int, memory int64) error {
	limits := map[int]uint64{unix.RLIMIT_CORE: 0}
	if !underRace {
		limits[unix.RLIMIT_DATA] = uint64(max(memory, 0))
	}
	for resource, value := range limits {
		err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: value, Max: value}, nil)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("prlimit of resource %d: %w", resource, err)
		}
	}

	return nil
}
