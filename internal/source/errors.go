package source

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// DigestMismatchError reports that a bundle is no longer the same as planned.
type DigestMismatchError struct {
	Bundle string
	Where  string // For example "directory ./apps".
	Want   string
	Got    string // "" if the bundle no longer exists.
}

func (e *DigestMismatchError) Error() string {
	if e.Got == "" {
		return fmt.Sprintf("bundle %s is no longer in %s; the content changed since it was planned, plan again", e.Bundle, e.Where)
	}
	return fmt.Sprintf("bundle %s in %s has digest %s, and digest %s was planned; the content changed since then, plan again",
		e.Bundle, e.Where, e.Got, e.Want)
}

// DirectoryError reports that a directory cannot be opened.
type DirectoryError struct {
	Path string // As written.
	Err  error
}

func (e *DirectoryError) Error() string {
	if !errors.Is(e.Err, fs.ErrNotExist) {
		return fmt.Sprintf("opening directory %s: %v", e.Path, e.Err)
	}
	where := ""
	if absolute, err := filepath.Abs(e.Path); err == nil && absolute != e.Path {
		where = " (" + absolute + ")"
	}
	return fmt.Sprintf("directory %s%s does not exist; it is needed on every machine that plans or applies", e.Path, where)
}

func (e *DirectoryError) Unwrap() error { return e.Err }
