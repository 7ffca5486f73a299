//go:build unix

package testenv

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strconv"
	"testing"
)

func TestReservedPortIsNotGivenToOthers(t *testing.T) {
	t.Parallel()
	port, err := reservePort(localhost)
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort(localhost, strconv.Itoa(port.number))
	var config net.ListenConfig
	if listener, err := config.Listen(t.Context(), "tcp", address); err == nil {
		t.Errorf("a reserved port could be listened on: %s", listener.Addr())
		_ = listener.Close()
	}
	var dialer net.Dialer
	if connection, err := dialer.DialContext(t.Context(), "tcp", address); err == nil {
		t.Error("a reserved port accepted a connection though no server listens")
		_ = connection.Close()
	}
	port.release()
}

// A program can listen on a released port. Another process can get the port first, for a connection
// of its own, so one free port of several is enough.
func TestReleasedPortIsFree(t *testing.T) {
	t.Parallel()
	var failures []error
	for range 10 {
		port, err := reservePort(localhost)
		if err != nil {
			t.Fatal(err)
		}
		port.release()
		var config net.ListenConfig
		listener, err := config.Listen(t.Context(), "tcp", net.JoinHostPort(localhost, strconv.Itoa(port.number)))
		if err == nil {
			_ = listener.Close()
			return
		}
		failures = append(failures, err)
	}
	t.Errorf("released ports cannot be listened on: %v", failures)
}

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := tryLock(path)
	if err != nil || lock == nil {
		t.Fatalf("first lock: got %v, %v", lock, err)
	}
	if second, err := tryLock(path); err != nil || second != nil {
		t.Fatalf("second lock: got %v, %v, want neither", second, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	_, err = waitForLock(ctx, path, cancel)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("waiting with a cancelled context: got error %v, want %v", err, context.Canceled)
	}

	release, err := waitForLock(t.Context(), path, lock.release)
	if err != nil {
		t.Fatalf("waiting for a lock that is released: %v", err)
	}
	release()
}

func TestSharedLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	alone, err := tryLock(path)
	if err != nil || alone == nil {
		t.Fatalf("the first lock: %v, %v", alone, err)
	}
	first, err := shareLock(alone, path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := shareLock(nil, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, lock := range []*fileLock{first, second} {
		if other, err := tryLock(path); other != nil || err != nil {
			t.Errorf("a lock beside shared ones: %v, %v; want none", other, err)
		}
		lock.release()
	}
	last, err := tryLock(path)
	if err != nil || last == nil {
		t.Fatalf("a lock after shared ones: %v, %v", last, err)
	}
	last.release()
}
