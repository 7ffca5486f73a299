package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/panics"
)

const (
	// kubeconfigLimit and secretLimit are how much of a file is read, in bytes: of a
	// kubeconfig, and of a token, a certificate or a key.
	kubeconfigLimit = 8 << 20
	secretLimit     = 1 << 20
	// fileTime is how long reading a pipe may take.
	fileTime = 10 * time.Second
	// tokenTime is how long a token from a file is used, as in client-go.
	tokenTime = 50 * time.Second
)

// fileError reports why a file of a connection could not be read. setting is its name, such as
// "token_file".
func fileError(setting, path string, err error) error {
	return fmt.Errorf("reading %s %s: %w", setting, path, err)
}

// isPipe reports whether a file is a pipe, such as that of a process substitution of a shell. It
// fails unless the file is a pipe or a regular file of at most limit bytes.
func isPipe(path string, limit int64) (bool, error) {
	about, err := os.Stat(path)
	switch {
	case err != nil:
		return false, err
	case about.Mode()&os.ModeNamedPipe != 0:
		return true, nil
	case !about.Mode().IsRegular():
		return false, errors.New("it is not a regular file")
	case about.Size() > limit:
		return false, tooLong(limit)
	}
	return false, nil
}

func tooLong(limit int64) error { return fmt.Errorf("it is larger than %d MiB", limit>>20) }

// checkFile fails unless a file is a regular file of at most secretLimit, which client-go reads without
// a delay. Without a path, or with data in its place, there is no file.
func checkFile(setting, path string, data []byte) error {
	if path == "" || len(data) > 0 {
		return nil
	}
	pipe, err := isPipe(path, secretLimit)
	if err == nil && pipe {
		err = errors.New("it is a pipe, and this file is read more than once")
	}
	if err != nil {
		return fileError(setting, path, err)
	}
	return nil
}

// readFile reads a regular file, or a pipe whose writer sends all content within fileTime.
func readFile(path string, limit int64) ([]byte, error) {
	if _, err := isPipe(path, limit); err != nil {
		return nil, err
	}
	type result struct {
		content []byte
		err     error
	}
	read := make(chan result, 1)
	// Opening a pipe waits for the process that writes to it, and cannot be cancelled.
	go func() {
		var got result
		got.err = panics.Recovering("reading a file", func() (err error) {
			got.content, err = readAll(path, limit)
			return err
		})()
		read <- got
	}()
	select {
	case got := <-read:
		return got.content, got.err
	case <-time.After(fileTime):
		return nil, errors.New("it is a pipe that no process writes to or closes")
	}
}

func readAll(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // the user's configuration names it
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	_ = file.SetReadDeadline(time.Now().Add(fileTime)) // A regular file supports no deadline and needs none.
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = tooLong(limit)
	}
	return content, err
}

// tokenFrom makes an authenticator that reads a file when a request needs it. It reads the file
// again after tokenTime, and after a server has refused the token.
func tokenFrom(setting, path string) *authenticator {
	return newAuthenticator(2*fileTime, func(context.Context) (*credentials, error) {
		content, err := readFile(path, secretLimit)
		token := strings.TrimSpace(string(content))
		if err == nil && token == "" {
			err = errors.New("it is empty")
		}
		if err != nil {
			return nil, fileError(setting, path, err)
		}
		read := &credentials{token: token}
		if pipe, err := isPipe(path, secretLimit); err != nil || !pipe { // A pipe gives its content once.
			read.expires = time.Now().Add(tokenTime)
		}
		return read, nil
	})
}
