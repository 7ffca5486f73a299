package worker

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/fxamacker/cbor/v2"
)

const (
	// maxNesting limits the stack of the decoder.
	maxNesting = 512
	// maxValues limits the memory of the decoder: an empty map has one byte, and takes many more as
	// a Go value.
	maxValues = 4 << 20
)

// errTooManyValues reports a message that would take much more memory than its length.
var errTooManyValues = fmt.Errorf("a message has more than %d values", maxValues)

// Marshal encodes requests, responses, questions and answers. Equal values give equal bytes.
func Marshal(value any) ([]byte, error) {
	data, err := encoder().Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encoding a message: %w", err)
	}

	return data, nil
}

// Unmarshal decodes what [Marshal] encoded. Values in an any are map[string]any, []any, string,
// []byte, bool, int64, float64 or nil. Strings keep their bytes, even if the bytes are not UTF-8.
// Integers beyond int64 are an error.
func Unmarshal(data []byte, value any) error {
	if exceedsValues(data, maxValues) {
		return fmt.Errorf("decoding a message: %w", errTooManyValues)
	}
	if err := decoder().Unmarshal(data, value); err != nil {
		return fmt.Errorf("decoding a message: %w", err)
	}

	return nil
}

//nolint:gochecknoglobals // a constant, made at its first use
var encoder = sync.OnceValue(func() cbor.EncMode {
	// Equal calls must have equal bytes, in any order of their maps.
	mode, err := cbor.EncOptions{Sort: cbor.SortBytewiseLexical, TagsMd: cbor.TagsForbidden}.EncMode()

	return must(mode, err)
})

//nolint:gochecknoglobals // a constant, made at its first use
var decoder = sync.OnceValue(func() cbor.DecMode {
	mode, err := cbor.DecOptions{
		DefaultMapType:    reflect.TypeFor[map[string]any](),
		IntDec:            cbor.IntDecConvertSignedOrFail,
		UTF8:              cbor.UTF8DecodeInvalid,
		MaxNestedLevels:   maxNesting,
		MaxArrayElements:  maxValues,
		MaxMapPairs:       maxValues,
		IndefLength:       cbor.IndefLengthForbidden,
		TagsMd:            cbor.TagsForbidden,
		DupMapKey:         cbor.DupMapKeyEnforcedAPF,
		FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
	}.DecMode()

	return must(mode, err)
})

// must panics if constant options contradict each other.
func must[T any](value T, err error) T {
	if err != nil {
		panic(errors.Join(errors.New("the options of CBOR are invalid"), err))
	}

	return value
}

// exceedsValues reports whether data has more than most values, without decoding them. It
// leaves malformed data to the decoder.
func exceedsValues(data []byte, most int) bool {
	for count := 1; len(data) > 0; count++ {
		if count > most {
			return true
		}
		size, ok := valueSize(data)
		if !ok {
			return false
		}
		data = data[size:]
	}

	return false
}

// valueSize returns the size of the first value of data. For an array or a map it returns the size
// of the head (RFC 8949, section 3).
func valueSize(data []byte) (size int, ok bool) {
	const (
		byteString, textString = 2, 3
		oneByte, eightBytes    = 24, 27
	)
	major, argument := data[0]>>5, uint64(data[0]&31)
	size = 1
	if argument >= oneByte && argument <= eightBytes {
		width := 1 << (argument - oneByte)
		if len(data) < 1+width {
			return 0, false
		}
		argument = 0
		for _, b := range data[1 : 1+width] {
			argument = argument<<8 | uint64(b)
		}
		size += width
	}
	if major != byteString && major != textString {
		return size, true
	}
	if argument > uint64(len(data)-size) { //nolint:gosec // A head is not longer than its data.
		return 0, false
	}

	return size + int(argument), true
}
