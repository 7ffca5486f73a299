package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// Terraform encodes the values of a state and a plan in MessagePack: an object and a map as a map, null
// as nil, and an unknown value as an extension (hashicorp/terraform, docs/plugin-protocol/object-wire-format.md).

var (
	wireNull    = []byte{msgpcode.Nil}           //nolint:gochecknoglobals // constant
	wireUnknown = []byte{msgpcode.FixExt1, 0, 0} //nolint:gochecknoglobals // constant
)

// attribute is an attribute of an object with its encoded value.
type attribute struct {
	name  string
	value []byte
}

// attributesOf returns the attributes of an encoded object, none if it is null.
func attributesOf(object []byte) ([]attribute, error) {
	in := bytes.NewReader(object)
	decoder := msgpack.NewDecoder(in)
	count, err := decoder.DecodeMapLen()
	if err != nil {
		return nil, fmt.Errorf("reading an object: %w", err)
	}
	var attributes []attribute
	for range count {
		name, err := decoder.DecodeString()
		if err != nil {
			return nil, fmt.Errorf("reading the name of an attribute: %w", err)
		}
		start := len(object) - in.Len()
		if err := decoder.Skip(); err != nil {
			return nil, fmt.Errorf("reading attribute %s: %w", name, err)
		}
		attributes = append(attributes, attribute{name: name, value: object[start : len(object)-in.Len()]})
	}
	return attributes, nil
}

// encodeObject is the reverse of attributesOf for an object that is not null.
func encodeObject(attributes []attribute) ([]byte, error) {
	var out bytes.Buffer
	encoder := msgpack.NewEncoder(&out)
	err := encoder.EncodeMapLen(len(attributes))
	for _, one := range attributes {
		err = errors.Join(err, encoder.EncodeString(one.name))
		out.Write(one.value)
	}
	return out.Bytes(), err
}

// take returns the encoded values of some attributes, and the object with null in their place.
func take(from *tfprotov6.DynamicValue, names []string) (rest *tfprotov6.DynamicValue, taken map[string][]byte, err error) {
	if from == nil || len(names) == 0 {
		return from, nil, nil
	}
	if len(from.MsgPack) == 0 {
		return nil, nil, errors.New("a value of a request is not encoded in MessagePack, as Terraform does")
	}
	attributes, err := attributesOf(from.MsgPack)
	if err != nil || attributes == nil {
		return from, nil, err
	}
	taken = make(map[string][]byte, len(names))
	for i, one := range attributes {
		if slices.Contains(names, one.name) {
			taken[one.name], attributes[i].value = one.value, wireNull
		}
	}
	encoded, err := encodeObject(attributes)
	return &tfprotov6.DynamicValue{MsgPack: encoded}, taken, err
}

// takeStored does the same for an object of a stored state.
func takeStored(object []byte, names []string) (rest []byte, taken map[string][]byte, err error) {
	if len(object) == 0 || len(names) == 0 {
		return object, nil, nil
	}
	var attributes map[string]json.RawMessage
	if err := json.Unmarshal(object, &attributes); err != nil {
		return nil, nil, fmt.Errorf("reading a stored state: %w", err)
	}
	taken = make(map[string][]byte, len(names))
	for _, name := range names {
		stored, ok := attributes[name]
		if !ok {
			continue
		}
		var elements map[string]*string // As they are: null and "" are no unknown values here.
		if err := json.Unmarshal(stored, &elements); err != nil {
			return nil, nil, fmt.Errorf("reading attribute %s of a stored state: %w", name, err)
		}
		if taken[name], err = msgpack.Marshal(elements); err != nil {
			return nil, nil, fmt.Errorf("encoding attribute %s of a stored state: %w", name, err)
		}
		attributes[name] = json.RawMessage("null")
	}
	rest, err = json.Marshal(attributes)
	return rest, taken, err
}

// put returns an object with values in place of those of its attributes that are null. It fails if the
// object has no such attribute.
func put(into *tfprotov6.DynamicValue, values map[string][]byte) (*tfprotov6.DynamicValue, error) {
	if into == nil || len(values) == 0 {
		return into, nil
	}
	attributes, err := attributesOf(into.MsgPack)
	if err != nil || attributes == nil {
		return into, err
	}
	found := 0
	for i, one := range attributes {
		value, ok := values[one.name]
		if !ok {
			continue
		}
		found++
		if bytes.Equal(one.value, wireNull) {
			attributes[i].value = value
		}
	}
	if found < len(values) {
		return nil, fmt.Errorf("%d of the attributes %q are not in the schema", len(values)-found, slices.Sorted(maps.Keys(values)))
	}
	encoded, err := encodeObject(attributes)
	return &tfprotov6.DynamicValue{MsgPack: encoded}, err
}

func (m StringMap) encode() ([]byte, error) {
	switch {
	case m.Unknown:
		return wireUnknown, nil
	case m.Elements == nil:
		return wireNull, nil
	}
	var out bytes.Buffer
	encoder := msgpack.NewEncoder(&out)
	err := encoder.EncodeMapLen(len(m.Elements))
	for key, text := range m.Elements {
		err = errors.Join(err, encoder.EncodeString(key))
		if text == "" {
			out.Write(wireUnknown)
			continue
		}
		err = errors.Join(err, encoder.EncodeString(text))
	}
	return out.Bytes(), err
}

func decodeStringMaps(encoded map[string][]byte) (map[string]StringMap, error) {
	found := make(map[string]StringMap, len(encoded))
	for name, value := range encoded {
		decoded, err := decodeStringMap(value)
		if err != nil {
			return nil, fmt.Errorf("reading attribute %s: %w", name, err)
		}
		found[name] = decoded
	}
	return found, nil
}

func decodeStringMap(value []byte) (StringMap, error) {
	decoder := msgpack.NewDecoder(bytes.NewReader(value))
	if isUnknown, err := skipUnknown(decoder); isUnknown || err != nil {
		return StringMap{Unknown: isUnknown}, err
	}
	count, err := decoder.DecodeMapLen()
	if err != nil || count < 0 { // null
		return StringMap{}, err
	}
	elements := map[string]string{}
	for range count {
		key, err := decoder.DecodeString()
		if err != nil {
			return StringMap{}, err
		}
		elements[key] = ""
		isUnknown, err := skipUnknown(decoder)
		if err != nil {
			return StringMap{}, err
		}
		if isUnknown {
			continue
		}
		if elements[key], err = decoder.DecodeString(); err != nil {
			return StringMap{}, fmt.Errorf("element %q: %w", key, err)
		}
	}
	return StringMap{Elements: elements}, nil
}

// skipUnknown reads the next value if it is unknown: as in terraform-plugin-go, if it is an extension.
func skipUnknown(decoder *msgpack.Decoder) (isUnknown bool, err error) {
	code, err := decoder.PeekCode()
	if err != nil || !msgpcode.IsExt(code) {
		return false, err
	}
	return true, decoder.Skip()
}
