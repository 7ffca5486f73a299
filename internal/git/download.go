package git

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// defaultMaxSize is how many bytes one fetch may take.
const defaultMaxSize = 2 << 30

var (
	errTooLarge = errors.New("it is larger than allowed")
	errNoPack   = errors.New("it is empty")
)

// storeError is a failure of this machine, not of the server.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// store is a file whose failures can be distinguished from those of a server.
type store struct{ *os.File }

// Write implements io.Writer.
func (s store) Write(p []byte) (int, error) {
	n, err := s.File.Write(p)
	if err != nil {
		return n, &storeError{err}
	}
	return n, nil
}

func createStore(dir, name string) (store, error) {
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // A folder of our own.
	if err != nil {
		return store{}, &storeError{err}
	}
	return store{file}, nil
}

// downloaded is a pack as it was received, in a folder of its own.
type downloaded struct {
	file store
	dir  string
	size int64
}

// download stores the data of a server on disk, so that only a buffer of the data is in memory.
// Errors: errTooLarge, errNoPack, *storeError, or the error of from.
func download(from io.Reader, dir string, limit int64) (downloaded, error) {
	file, err := createStore(dir, "pack")
	if err != nil {
		return downloaded{}, err
	}
	d := downloaded{file: file, dir: dir}
	d.size, err = io.Copy(struct{ io.Writer }{file}, io.LimitReader(from, limit+1))
	switch {
	case err != nil:
	case d.size > limit:
		err = errTooLarge
	case d.size == 0:
		err = errNoPack
	}
	if err != nil {
		return downloaded{size: d.size}, errors.Join(err, d.file.Close())
	}
	return d, nil
}
