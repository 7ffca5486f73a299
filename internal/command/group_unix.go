//go:build unix

package command

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// asGroup makes a process the first of a process group, which is killed as a whole. Otherwise the
// child processes of a shell would keep running, and keep its output open.
func asGroup(process *exec.Cmd) {
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	process.Cancel = func() error {
		err := syscall.Kill(-process.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
