//go:build unix

package testenv

import (
	"os"
	"syscall"
	"testing"
)

func groupOf(pid int) (int, error) { return syscall.Getpgid(pid) }

func removeAll(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}
