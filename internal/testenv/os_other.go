//go:build !unix

package testenv

import (
	"context"
	"errors"
	"os"
	"syscall"
)

var errNotUnix = errors.New("starting local clusters needs a Unix system; set FLEET_TEST_KUBECONFIG and FLEET_TEST_CONTEXTS")

type fileLock struct{}

func tryLock(string) (*fileLock, error) { return nil, errNotUnix }

func shareLock(*fileLock, string) (*fileLock, error) { return nil, errNotUnix }

func (*fileLock) release() {}

func waitForLock(context.Context, string, func()) (func(), error) { return nil, errNotUnix }

type reservedPort struct{ number int }

func reservePort(string) (*reservedPort, error) { return nil, errNotUnix }

func (*reservedPort) release() {}

func leadGroup() *syscall.SysProcAttr { return nil }

func joinGroup(int) *syscall.SysProcAttr { return nil }

func killGroup(leader int) error {
	process, err := os.FindProcess(leader)
	if err != nil {
		return err
	}
	return process.Kill()
}
