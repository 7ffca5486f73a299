package worker

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// takePipes returns the pipes to the parent. Standard input and output become the null
// device, so that a library that reads or prints does not disturb the frames.
func takePipes() (in, out *os.File, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the null device: %w", err)
	}
	in, out = os.Stdin, os.Stdout
	os.Stdin, os.Stdout = null, null //nolint:reassign // That is the purpose.
	err = errors.Join(
		windows.SetStdHandle(windows.STD_INPUT_HANDLE, windows.Handle(null.Fd())),
		windows.SetStdHandle(windows.STD_OUTPUT_HANDLE, windows.Handle(null.Fd())),
	)
	if err != nil {
		return nil, nil, fmt.Errorf("replacing standard input and output: %w", err)
	}

	return in, out, nil
}

// confine does nothing: the job object that the parent made limits memory and processes.
func confine() Confinement { return Confinement{} }

// dataLimit returns 0: the limit of the job object is not visible here.
func dataLimit() int64 { return 0 }

// cpuTime returns the CPU time of this process.
func cpuTime() time.Duration {
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user); err != nil {
		return 0 // The limit by the clock remains.
	}
	const unit = 100 // nanoseconds
	ticks := func(t windows.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }

	return time.Duration((ticks(kernel) + ticks(user)) * unit)
}
