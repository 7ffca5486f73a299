package worker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// frameKind is the meaning of a frame.
type frameKind byte

const (
	frameCall     frameKind = iota + 1 // to the worker: a method and its request
	frameResponse                      // to the worker: the response to a request of the worker
	frameRefusal                       // to the worker: why a request of the worker gets no response
	frameReady                         // to the parent: the worker has its limits
	frameBegun                         // to the parent: the call was read, its handler runs
	frameQuestion
	frameResult
	frameError
)

const (
	// headerSize is the size of the kind, the call and the length of the payload.
	headerSize = 1 + 4 + 4
	// joined is the size up to which a frame is written at once.
	joined = 64 << 10
	// firstChunk is what a reader allocates when it has read only a length.
	firstChunk = 64 << 10
	// maxQuestion limits questions and error texts.
	maxQuestion = 1 << 20
	// maxRequest limits requests and answers.
	maxRequest = 1 << 30
)

// frame is one message between parent and worker.
type frame struct {
	kind    frameKind
	call    uint32
	payload []byte
}

// protocolError reports a frame that the other side must not send.
type protocolError struct {
	problem string
}

func (e *protocolError) Error() string { return e.problem }

// tooLongError reports a frame longer than its limit.
type tooLongError struct {
	kind          frameKind
	length, limit int64
}

func (e *tooLongError) Error() string {
	return fmt.Sprintf("a frame of kind %d has %d bytes; at most %d are allowed", e.kind, e.length, e.limit)
}

// writeFrame writes one frame. Its payload is the parts, one after another.
func writeFrame(w io.Writer, kind frameKind, call uint32, parts ...[]byte) error {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	if int64(size) > math.MaxUint32 {
		return &tooLongError{kind: kind, length: int64(size), limit: math.MaxUint32}
	}

	message := make([]byte, 0, headerSize+min(size, joined))
	message = append(message, byte(kind))
	message = binary.BigEndian.AppendUint32(message, call)
	message = binary.BigEndian.AppendUint32(message, uint32(size))
	if size <= joined {
		message = append(message, bytes.Join(parts, nil)...)
		parts = nil
	}
	for _, part := range append([][]byte{message}, parts...) {
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("writing a frame: %w", err)
		}
	}

	return nil
}

// readFrame reads one frame. limit returns the longest payload of a kind, or less than 0
// for a kind that the other side must not send. A longer frame is refused before its
// payload is read. The error is io.EOF only between two frames.
func readFrame(r io.Reader, limit func(frameKind) int64) (frame, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return frame{}, fmt.Errorf("reading a frame: %w", err)
	}
	f := frame{kind: frameKind(header[0]), call: binary.BigEndian.Uint32(header[1:])}
	length := int64(binary.BigEndian.Uint32(header[5:]))
	longest := limit(f.kind)
	if longest < 0 {
		return frame{}, &protocolError{problem: fmt.Sprintf("a frame of kind %d is not allowed here", f.kind)}
	}
	if length > longest {
		return frame{}, &tooLongError{kind: f.kind, length: length, limit: longest}
	}

	payload, err := readPayload(r, length)
	f.payload = payload

	return f, err
}

// readPayload reads length bytes. It allocates as bytes arrive, since the length may be false.
func readPayload(r io.Reader, length int64) ([]byte, error) {
	var payload bytes.Buffer
	payload.Grow(int(min(length, firstChunk)))
	_, err := io.CopyN(&payload, r, length)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("reading a frame: %w", err)
	}

	return payload.Bytes(), nil
}

// nameParts returns the parts of a payload that begins with a name.
func nameParts(name string, payload []byte) ([][]byte, error) {
	if len(name) > math.MaxUint8 {
		return nil, fmt.Errorf("a name of %d bytes is longer than %d", len(name), math.MaxUint8)
	}

	return [][]byte{{byte(len(name))}, []byte(name), payload}, nil //nolint:gosec // See above.
}

// splitName returns the name and the rest of a payload.
func splitName(payload []byte) (name string, rest []byte, err error) {
	if len(payload) == 0 || len(payload) < 1+int(payload[0]) {
		return "", nil, &protocolError{problem: "a frame ends within its name"}
	}
	end := 1 + int(payload[0])

	return string(payload[1:end]), payload[end:], nil
}
