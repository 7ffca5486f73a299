package faulttest

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"io"
	"strings"
)

// Gzip returns one gzip stream of count copies of a text, with another text before and after. A
// short stream unpacks to a long text: only one block of copies is compressed, and the stream
// repeats the compressed block. A gzip.Writer compresses some 10 MiB a second under the race
// detector.
func Gzip(before, text string, count int, after string) []byte {
	// Copies of a short text are compressed together.
	together := min(max(1, (64<<10)/max(1, len(text))), max(1, count))
	block, blocks := strings.Repeat(text, together), count/together
	rest := strings.Repeat(text, count%together) + after

	stream := bytes.NewBuffer([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}) // deflate, no name, no time, unknown system
	stream.Write(deflated(before, false))
	stream.Write(bytes.Repeat(deflated(block, false), blocks))
	stream.Write(deflated(rest, true))

	sum, size := crc32.NewIEEE(), len(before)+len(block)*blocks+len(rest)
	_, _ = io.WriteString(sum, before)
	for range blocks {
		_, _ = io.WriteString(sum, block)
	}
	_, _ = io.WriteString(sum, rest)
	trailer := binary.LittleEndian.AppendUint32(nil, sum.Sum32())

	return append(stream.Bytes(), binary.LittleEndian.AppendUint32(trailer, uint32(size))...) //nolint:gosec // gzip states the size modulo 2³²
}

// deflated returns a text as a part of a deflate stream that refers to nothing before it.
func deflated(text string, last bool) []byte {
	var part bytes.Buffer
	writer, err := flate.NewWriter(&part, flate.DefaultCompression)
	if err != nil {
		panic(err) // The level exists.
	}
	end := writer.Flush
	if last {
		end = writer.Close
	}
	_, _ = io.WriteString(writer, text) // A buffer takes everything.
	_ = end()

	return part.Bytes()
}
