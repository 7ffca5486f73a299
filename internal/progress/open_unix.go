//go:build unix

package progress

import (
	"os/signal"
	"syscall"
)

// extraFlags make Open not wait for the reader of a pipe. They also keep a terminal from becoming
// the controlling terminal of the process.
const extraFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

// ignoreBackground keeps a terminal with "stty tostop" from stopping a provider in the background.
func ignoreBackground() { signal.Ignore(syscall.SIGTTOU) }
