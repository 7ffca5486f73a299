package git

import (
	"errors"
	"io"
	"os"
	"slices"
)

// spillBuffer stores the objects that deltas apply to, up to available bytes in memory. Further
// objects are stored in files, up to disk bytes.
type spillBuffer struct {
	dir       string
	available int64
	disk      int64
}

// spilledObject is an object in a spillBuffer. It is written once, then read.
type spilledObject struct {
	size    int64
	written int64
	memory  []byte
	file    *store       // nil when it is in memory.
	from    *spillBuffer // nil when its memory belongs to a cache.
}

// allocate reserves space for an object of size bytes.
func (h *spillBuffer) allocate(size int64) (*spilledObject, error) {
	made := &spilledObject{size: size, from: h}
	if size <= h.available {
		h.available -= size
		made.memory = make([]byte, 0, size)
		return made, nil
	}
	if size > h.disk {
		return nil, errTooLarge
	}
	file, err := os.CreateTemp(h.dir, "object-*")
	if err != nil {
		return nil, &storeError{err}
	}
	h.disk -= size
	made.file = &store{file}
	return made, nil
}

var errTooMuch = errors.New("an object is longer than declared")

// Write implements io.Writer.
func (h *spilledObject) Write(p []byte) (int, error) {
	if h.written+int64(len(p)) > h.size {
		return 0, errTooMuch
	}
	h.written += int64(len(p))
	if h.file != nil {
		return h.file.Write(p)
	}
	h.memory = append(h.memory, p...)
	return len(p), nil
}

// fill writes all of from to the object. An object in memory needs no other buffer.
func (h *spilledObject) fill(from io.Reader) error {
	if h.file != nil {
		_, err := io.Copy(struct{ io.Writer }{h}, from)
		return err
	}
	h.memory = h.memory[:h.size]
	n, err := io.ReadFull(from, h.memory)
	h.written = int64(n)
	if err != nil {
		return err
	}
	if n, _ := from.Read(make([]byte, 1)); n > 0 {
		return errTooMuch
	}
	return nil
}

// part writes n bytes from offset on to a writer. The object must contain them.
func (h *spilledObject) part(to io.Writer, offset, n int64) error {
	if h.file == nil {
		_, err := to.Write(h.memory[offset : offset+n])
		return err
	}
	_, err := io.CopyN(to, io.NewSectionReader(h.file, offset, n), n)
	return err
}

// bytes reads the whole object.
func (h *spilledObject) bytes() ([]byte, error) {
	if h.file == nil {
		return slices.Clone(h.memory), nil // The memory may be shared.
	}
	content := make([]byte, h.size)
	_, err := io.ReadFull(io.NewSectionReader(h.file, 0, h.size), content)
	return content, err
}

// release returns the space to the spillBuffer. An object in memory stays readable.
func (h *spilledObject) release() error {
	if h == nil || h.from == nil {
		return nil
	}
	if h.file != nil {
		h.from.disk += h.size
		return errors.Join(h.file.Close(), os.Remove(h.file.Name())) //nolint:gosec // The name is our own.
	}
	h.from.available += h.size
	return nil
}
