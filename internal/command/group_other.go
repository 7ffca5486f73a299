//go:build !unix

package command

import "os/exec"

// asGroup changes nothing: without process groups, only the process itself is killed. Run does not
// wait for the output that child processes keep open.
func asGroup(*exec.Cmd) {}
