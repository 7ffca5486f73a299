package worker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is the job object of a worker. It ends when its handle is closed, also by the parent's
// exit.
type group struct {
	job windows.Handle
}

func inOwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP,
	}
}

// limitGroup puts a process into a job object with a memory limit.
func limitGroup(process *os.Process, memory int64) (group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return group{}, fmt.Errorf("creating a job object: %w", err)
	}
	if err := errors.Join(limitJob(job, memory), assignJob(job, process)); err != nil {
		return group{}, errors.Join(err, windows.CloseHandle(job))
	}

	return group{job: job}, nil
}

func limitJob(job windows.Handle, memory int64) error {
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY |
				windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS |
				windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION |
				windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
			ActiveProcessLimit: 1,
		},
		ProcessMemoryLimit: uintptr(max(memory, 0)),
	}
	_, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))) //nolint:gosec // The call needs the address.
	if err != nil {
		return fmt.Errorf("limiting a job object: %w", err)
	}

	return nil
}

func assignJob(job windows.Handle, process *os.Process) error {
	handle, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(process.Pid))
	if err != nil {
		return fmt.Errorf("opening the process: %w", err)
	}
	err = windows.AssignProcessToJobObject(job, handle)
	if err != nil {
		err = fmt.Errorf("assigning the process to a job object: %w", err)
	}

	return errors.Join(err, windows.CloseHandle(handle))
}

// kill ends all processes of the job. It is called once.
func (g group) kill() {
	// The process ends at the latest when the handle of the job is closed.
	_, _ = windows.TerminateJobObject(g.job, 1), windows.CloseHandle(g.job)
}

// rootDir returns the root of the drive of Windows.
func rootDir() string {
	dir, err := windows.GetSystemDirectory()
	if err != nil {
		return ""
	}

	return filepath.VolumeName(dir) + `\`
}
