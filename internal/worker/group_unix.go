//go:build unix

package worker

import (
	"os"
	"os/exec"
	"syscall"
)

// group is the process group of a worker.
type group struct {
	id int
}

func inOwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// limitGroup applies the limits that the parent sets.
func limitGroup(process *os.Process, memory int64) (group, error) {
	return group{id: process.Pid}, limitProcess(process.Pid, memory)
}

// kill ends all processes of the group. Processes that have already exited are no error.
func (g group) kill() {
	if g.id == 0 { // Signaling group 0 would signal the group of this process.
		return
	}
	_ = syscall.Kill(-g.id, syscall.SIGKILL)
}

func rootDir() string { return "/" }
