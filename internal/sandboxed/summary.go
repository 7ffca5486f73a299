package sandboxed

import (
	"encoding/binary"
	"hash/fnv"
	"hash/maphash"
	"reflect"
	"strconv"
	"strings"
	"time"
)

type reflectValue = reflect.Value

// valueKind is the kind of a value.
type valueKind uint8

const (
	scalar  valueKind = iota // a text, a number, nothing
	listed                   // a list of scalars
	nesting                  // a list of others
	mapped                   // a map or a struct
)

// summary contains enough of a value to find out whether it differs.
type summary struct {
	hash uint64
	// bag is the hash of a list without its order, and for other values the hash.
	bag  uint64
	kind valueKind
}

// summarizer makes summaries. All renderings that are compared use the same one.
type summarizer struct {
	seed maphash.Seed
	// left is how many more values may be read.
	left int
}

const (
	// maxSummarized limits the time of a comparison.
	maxSummarized = 20 << 20
	maxValueDepth = 100
)

func newSummarizer() *summarizer { return &summarizer{seed: maphash.MakeSeed(), left: maxSummarized} }

func (s *summarizer) exhausted() bool { return s.left <= 0 }

func (s *summarizer) text(kind, text string) uint64 { return maphash.String(s.seed, kind+"\x00"+text) }

func (s *summarizer) number(a, b uint64) uint64 {
	var data [16]byte
	binary.LittleEndian.PutUint64(data[:], a)
	binary.LittleEndian.PutUint64(data[8:], b)
	return maphash.Bytes(s.seed, data[:])
}

func (s *summarizer) of(value any) summary {
	v := concrete(reflect.ValueOf(value))
	if !v.IsValid() {
		return summary{}
	}
	switch v.Kind() { //nolint:exhaustive // All others are scalars.
	case reflect.Map, reflect.Struct:
		hash := s.deep(v, 0)
		return summary{hash: hash, bag: hash, kind: mapped}
	case reflect.Slice, reflect.Array:
		made := summary{kind: listed, hash: s.text("list", v.Type().String())}
		for i := range v.Len() {
			element := concrete(v.Index(i))
			if isNested(element) {
				made.kind = nesting
			}
			hash := s.deep(element, 1)
			made.hash, made.bag = s.number(made.hash, hash), made.bag+s.number(hash, 1)
		}
		return made
	}
	hash := s.deep(v, 0)
	return summary{hash: hash, bag: hash}
}

func isNested(v reflect.Value) bool {
	switch v.Kind() { //nolint:exhaustive // All others are scalars.
	case reflect.Map, reflect.Struct, reflect.Slice, reflect.Array:
		return true
	}
	return false
}

// concrete follows interfaces and pointers.
func concrete(v reflect.Value) reflect.Value {
	for range maxValueDepth {
		if v.Kind() != reflect.Interface && v.Kind() != reflect.Pointer {
			break
		}
		v = v.Elem()
	}
	return v
}

// isFiles reports whether a value is the files of a chart, which are the same in each rendering.
func isFiles(v reflect.Value) bool { return strings.HasSuffix(v.Type().String(), "engine.files") }

// keys returns the hash of the keys of a map, independent of their order.
func (s *summarizer) keys(v reflect.Value) uint64 {
	sum := uint64(1)
	for _, key := range v.MapKeys() {
		s.left--
		sum += s.deep(concrete(key), 1)
	}
	return sum
}

func (s *summarizer) deep(v reflect.Value, depth int) uint64 {
	s.left--
	v = concrete(v)
	if !v.IsValid() {
		return 0
	}
	if depth > maxValueDepth || s.exhausted() {
		s.left = 0
		return 0
	}
	switch v.Kind() { //nolint:exhaustive // Templates make no other kinds.
	case reflect.String:
		s.left -= v.Len() / 64 //nolint:mnd // The cost of a text depends on its length.
		return s.text("string", v.String())
	case reflect.Bool:
		return s.text("bool", map[bool]string{true: "t", false: "f"}[v.Bool()])
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return s.number(uint64(v.Int()), 2) //nolint:gosec,mnd // any number
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return s.number(v.Uint(), 3) //nolint:mnd // any number
	case reflect.Float32, reflect.Float64:
		return s.text("float", strconv.FormatFloat(v.Float(), 'g', -1, 64))
	case reflect.Map:
		if isFiles(v) {
			return s.keys(v)
		}
		sum := uint64(v.Len()) //nolint:gosec // not negative
		for entries := v.MapRange(); entries.Next(); {
			sum += s.number(s.deep(entries.Key(), depth+1), s.deep(entries.Value(), depth+1))
		}
		return s.number(sum, 4) //nolint:mnd // any number
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 && v.Kind() == reflect.Slice {
			s.left -= v.Len() / 64 //nolint:mnd // The cost of bytes depends on their number.
			return s.text("bytes", string(v.Bytes()))
		}
		sum := s.text("list", "")
		for i := range v.Len() {
			sum = s.number(sum, s.deep(v.Index(i), depth+1))
		}
		return sum
	case reflect.Struct:
		if v.CanInterface() {
			if moment, ok := reflect.TypeAssert[time.Time](v); ok {
				return s.text("time", moment.String())
			}
		}
		sum := s.text("struct", v.Type().String())
		for _, value := range v.Fields() {
			sum = s.number(sum, s.deep(value, depth+1))
		}
		return sum
	}
	return s.text("other", v.Type().String())
}

// path returns the hash of the keys of all maps on the path of names, and of other values on it.
// Two bases whose maps on the path have the same keys return the same hash for a missing field.
// isList is true if a list is on the path.
func (s *summarizer) path(base any, names []any) (hash uint64, isList bool) {
	v := concrete(reflect.ValueOf(base))
	for _, name := range names {
		switch {
		case !v.IsValid():
			return s.number(hash, 5), isList //nolint:mnd // any number
		case v.Kind() == reflect.Map && !isFiles(v) && reflect.TypeOf(name) != nil && reflect.TypeOf(name).AssignableTo(v.Type().Key()):
			hash = s.number(s.number(hash, s.keys(v)), s.of(name).hash)
			v = concrete(v.MapIndex(reflect.ValueOf(name)))
		default:
			isList = isList || v.Kind() == reflect.Slice || v.Kind() == reflect.Array
			rest := s.of(names)
			return s.number(s.number(hash, s.deep(v, 0)), rest.hash), isList
		}
	}
	return hash, isList
}

// characters returns a hash of the characters of a text that have a meaning in YAML, independent of
// their order. Texts with different characters are different objects.
func (s *summarizer) characters(text string) uint64 {
	var counts [256]uint64
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(" "+line, " #") // A comment is not part of an object.
		for i := range len(line) {
			counts[line[i]]++
		}
	}
	for _, ignored := range " \t\r\n\"'|>-+" {
		counts[ignored] = 0
	}
	sum := uint64(0)
	for _, count := range counts {
		sum = s.number(sum, count)
	}
	return sum
}

func fnv64(parts ...string) uint64 {
	sum := fnv.New64a()
	for _, part := range parts {
		_, _ = sum.Write([]byte(part + "\x00"))
	}
	return sum.Sum64()
}
