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
func (b *spillBuffer) allocate(size int64) (*spilledObject, error) {
	made := &spilledObject{size: size, from: b}
	if size <= b.available {
		b.available -= size
		made.memory = make([]byte, 0, size)
		return made, nil
	}
	if size > b.disk {
		return nil, errTooLarge
	}
	file, err := os.CreateTemp(b.dir, "object-*")
	if err != nil {
		return nil, &storeError{err}
	}
	b.disk -= size
	made.file = &store{file}
	return made, nil
}

var errTooMuch = errors.New("an object is longer than declared")

// Write implements io.Writer.
func (o *spilledObject) Write(p []byte) (int, error) {
	if o.written+int64(len(p)) > o.size {
		return 0, errTooMuch
	}
	o.written += int64(len(p))
	if o.file != nil {
		return o.file.Write(p)
	}
	o.memory = append(o.memory, p...)
	return len(p), nil
}

// fill writes all of from to the object. An object in memory needs no other buffer.
func (o *spilledObject) fill(from io.Reader) error {
	if o.file != nil {
		_, err := io.Copy(struct{ io.Writer }{o}, from)
		return err
	}
	o.memory = o.memory[:o.size]
	n, err := io.ReadFull(from, o.memory)
	o.written = int64(n)
	if err != nil {
		return err
	}
	if n, _ := from.Read(make([]byte, 1)); n > 0 {
		return errTooMuch
	}
	return nil
}

// part writes n bytes from offset on to a writer. The object must contain them.
func (o *spilledObject) part(to io.Writer, offset, n int64) error {
	if o.file == nil {
		_, err := to.Write(o.memory[offset : offset+n])
		return err
	}
	_, err := io.CopyN(to, io.NewSectionReader(o.file, offset, n), n)
	return err
}

// bytes reads the whole object.
func (o *spilledObject) bytes() ([]byte, error) {
	if o.file == nil {
		return slices.Clone(o.memory), nil // The memory may be shared.
	}
	content := make([]byte, o.size)
	_, err := io.ReadFull(io.NewSectionReader(o.file, 0, o.size), content)
	return content, err
}

// release returns the space to the spillBuffer. An object in memory stays readable.
func (o *spilledObject) release() error {
	if o == nil || o.from == nil {
		return nil
	}
	if o.file != nil {
		o.from.disk += o.size
		return errors.Join(o.file.Close(), os.Remove(o.file.Name())) //nolint:gosec // The name is our own.
	}
	o.from.available += o.size
	return nil
}
