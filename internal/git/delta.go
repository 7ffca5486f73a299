package git

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
)

// errDelta is the error for a delta that cannot be applied.
var errDelta = errors.New("a delta between objects is malformed")

// deltaSizes reads the start of a delta: the size of its base and the size of its result.
func deltaSizes(delta io.ByteReader) (base, result int64, err error) {
	if base, err = readSize(delta); err != nil {
		return 0, 0, err
	}
	result, err = readSize(delta)
	return base, result, err
}

// readSize reads seven bits per byte, the lowest first.
func readSize(from io.ByteReader) (int64, error) {
	var size int64
	for shift := 0; shift < 63; shift += 7 {
		b, err := from.ReadByte()
		if err != nil {
			return 0, fmt.Errorf("%w: %w", errDelta, err)
		}
		part := int64(b & 0x7f)
		if part > math.MaxInt64>>shift {
			return 0, errDelta
		}
		size |= part << shift
		if b&0x80 == 0 {
			return size, nil
		}
	}
	return 0, errDelta
}

// applyDelta writes the object that a delta makes from base (gitformat-pack(5), "Deltified
// representation"). go-git's own function needs the base in memory, or reads the base from its
// start for every step backwards.
func applyDelta(to, base *spilledObject, delta io.Reader) error {
	size := to.size
	commands := bufio.NewReader(delta)
	wantBase, wantSize, err := deltaSizes(commands)
	if err != nil {
		return err
	}
	if wantBase != base.size || wantSize != size {
		return errDelta
	}
	for size > 0 {
		var n int64
		command, err := commands.ReadByte()
		switch {
		case err != nil || command == 0:
			return errors.Join(errDelta, err)
		case command&0x80 == 0:
			n, err = copyNew(to, commands, int64(command), size)
		default:
			n, err = copyBase(to, base, command, commands, size)
		}
		if err != nil {
			return err
		}
		size -= n
	}
	if _, err := commands.ReadByte(); !errors.Is(err, io.EOF) {
		return errors.Join(errDelta, err)
	}
	return nil
}

// copyNew copies bytes that are in the delta itself.
func copyNew(to io.Writer, commands io.Reader, n, left int64) (int64, error) {
	if n > left {
		return 0, errDelta
	}
	return io.CopyN(to, commands, n)
}

// wholeCopy is the size of a copy whose command gives no size.
const wholeCopy = 0x10000

// copyBase copies a part of the base. Each low bit of command is set if the matching byte of the
// offset (four) or size (three) follows.
func copyBase(to io.Writer, base *spilledObject, command byte, commands io.ByteReader, left int64) (int64, error) {
	var offset, n int64
	for bit := range 7 {
		if command>>bit&1 == 0 {
			continue
		}
		b, err := commands.ReadByte()
		if err != nil {
			return 0, errors.Join(errDelta, err)
		}
		if bit < 4 {
			offset |= int64(b) << (8 * bit)
		} else {
			n |= int64(b) << (8 * (bit - 4))
		}
	}
	if n == 0 {
		n = wholeCopy
	}
	if n > left || offset+n > base.size {
		return 0, errDelta
	}
	return n, base.part(to, offset, n)
}
