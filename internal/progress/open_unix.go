//go:build unix

package progress

import (
	"os/signal"
	"syscall"
)

// extraFlags keep the open of a pipe without a reader from waiting, and a terminal from becoming
// the one that controls the process.
const extraFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

// ignoreBackground keeps a terminal with "stty tostop" from stopping a provider in the background.
func ignoreBackground() { signal.Ignore(syscall.SIGTTOU) }
