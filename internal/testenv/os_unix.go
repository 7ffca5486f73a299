//go:build unix

package testenv

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A fileLock is held until it is released or the process has ended for any reason.
type fileLock struct{ file *os.File }

// tryLock returns nil, and no error, when another process holds the lock.
func tryLock(path string) (*fileLock, error) {
	file, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening a lock file: %w", err)
	}
	for {
		switch err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return &fileLock{file}, nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return nil, file.Close()
		default:
			return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), file.Close())
		}
	}
}

// shareLock waits for a lock that several processes hold at once. It gives up held, the exclusive
// lock of the same file, if this is not nil.
func shareLock(held *fileLock, path string) (*fileLock, error) {
	if held == nil {
		file, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("opening a lock file: %w", err)
		}
		held = &fileLock{file}
	}
	for {
		err := unix.Flock(int(held.file.Fd()), unix.LOCK_SH)
		if err == nil {
			return held, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), held.file.Close())
		}
	}
}

func (l *fileLock) release() { _ = l.file.Close() }

// waitForLock waits for the lock. It calls waiting once if another process holds the lock.
func waitForLock(ctx context.Context, path string, waiting func()) (release func(), err error) {
	lock, err := tryLock(path)
	if err != nil {
		return nil, err
	}
	if lock != nil {
		return lock.release, nil
	}
	waiting()
	retry := time.NewTicker(100 * time.Millisecond)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the lock %s: %w", path, ctx.Err())
		case <-retry.C:
		}
		lock, err := tryLock(path)
		if err != nil {
			return nil, err
		}
		if lock != nil {
			return lock.release, nil
		}
	}
}

// A reservedPort is a port of an address of this machine that no other process gets. It is bound, but nothing
// listens on it until a program of this user does so with SO_REUSEPORT. Thus the port never
// collides with a port of another process, and is not lost while its API server is stopped.
type reservedPort struct {
	number int
	socket *os.File
}

func reservePort(address string) (*reservedPort, error) {
	syscall.ForkLock.RLock() // Until the flag is set, no child process may start.
	descriptor, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(descriptor)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("reserving a port: %w", err)
	}
	socket := os.NewFile(uintptr(descriptor), "reserved port")
	number, err := bindSharedPort(descriptor, address)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reserving a port: %w", err), socket.Close())
	}
	return &reservedPort{number: number, socket: socket}, nil
}

func bindSharedPort(descriptor int, on string) (int, error) {
	if err := unix.SetsockoptInt(descriptor, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return 0, fmt.Errorf("sharing it with a child process: %w", err)
	}
	parsed, err := netip.ParseAddr(on)
	if err != nil {
		return 0, fmt.Errorf("reading the address of a port: %w", err)
	}
	if err := unix.Bind(descriptor, &unix.SockaddrInet4{Addr: parsed.As4()}); err != nil {
		return 0, fmt.Errorf("binding to %s: %w", on, err)
	}
	address, err := unix.Getsockname(descriptor)
	if err != nil {
		return 0, fmt.Errorf("asking which it is: %w", err)
	}
	internet, ok := address.(*unix.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("unexpected kind of address %T", address)
	}
	return internet.Port, nil
}

func (p *reservedPort) release() { _ = p.socket.Close() }

// leadGroup makes the process to be started the leader of a new process group.
func leadGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// joinGroup puts the process to be started into the process group of leader.
func joinGroup(leader int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pgid: leader}
}

// killGroup kills all processes of the group that leader leads. It is no error if there are none.
func killGroup(leader int) error {
	if err := unix.Kill(-leader, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("killing process group %d: %w", leader, err)
	}
	return nil
}
