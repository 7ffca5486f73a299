package progress

import (
	"fmt"
	"os"

	"golang.org/x/term"
)

// Open opens the file that the environment variable FLEET_PROGRESS names: a file to append to, a
// terminal or a named pipe. It does not wait for the reader of a pipe. Only the owner can read a
// new file.
func Open(path string) (*Reporter, error) {
	const ownerOnly = 0o600
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|extraFlags, ownerOnly) //nolint:gosec // The path is from the user's own environment.
	if err != nil {
		return nil, fmt.Errorf("opening the file of FLEET_PROGRESS: %w", err)
	}
	isTerminal := false
	control(file, func(fd int) { isTerminal = term.IsTerminal(fd) })
	if !isTerminal {
		return NewFile(file), nil
	}
	ignoreBackground()
	return NewTerminal(file, func() (width int) {
		control(file, func(fd int) { width, _, _ = term.GetSize(fd) })
		return width
	}), nil
}

// control calls do with the descriptor of a file. File.Fd would make writes block a thread.
func control(file *os.File, do func(fd int)) {
	if connection, err := file.SyscallConn(); err == nil {
		_ = connection.Control(func(fd uintptr) { do(int(fd)) })
	}
}
