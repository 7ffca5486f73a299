//go:build unix

package worker_test

import (
	"context"
	"syscall"
)

// inodes returns the inodes of the open files.
func inodes(context.Context, []byte, requestFunc) (any, error) {
	var found []uint64
	for descriptor := range 1000 {
		var stat syscall.Stat_t
		if err := syscall.Fstat(descriptor, &stat); err == nil {
			found = append(found, stat.Ino)
		}
	}

	return found, nil
}
