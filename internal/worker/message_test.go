package worker_test

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker"
)

func TestValuesKeepTheirTypes(t *testing.T) {
	t.Parallel()

	tests := map[string]struct{ value, want any }{
		"nil":                  {value: nil, want: nil},
		"true":                 {value: true, want: true},
		"text":                 {value: "größer", want: "größer"},
		"empty text":           {value: "", want: ""},
		"text with bad UTF-8":  {value: "a\xff\x00b", want: "a\xff\x00b"},
		"bytes":                {value: []byte{0, 255}, want: []byte{0, 255}},
		"int":                  {value: 7, want: int64(7)},
		"negative":             {value: int64(-7), want: int64(-7)},
		"beyond 2^53":          {value: int64(1)<<53 + 1, want: int64(1)<<53 + 1},
		"largest":              {value: int64(math.MaxInt64), want: int64(math.MaxInt64)},
		"smallest":             {value: int64(math.MinInt64), want: int64(math.MinInt64)},
		"uint64":               {value: uint64(9), want: int64(9)},
		"float":                {value: 0.1, want: 0.1},
		"whole float":          {value: 1e6, want: 1e6},
		"negative zero":        {value: math.Copysign(0, -1), want: math.Copysign(0, -1)},
		"infinite":             {value: math.Inf(-1), want: math.Inf(-1)},
		"float32":              {value: float32(0.5), want: 0.5},
		"list with nil":        {value: []any{nil, int64(1), nil}, want: []any{nil, int64(1), nil}},
		"empty list":           {value: []any{}, want: []any{}},
		"nil list":             {value: []any(nil), want: nil},
		"empty map":            {value: map[string]any{}, want: map[string]any{}},
		"nil map":              {value: map[string]any(nil), want: nil},
		"list of texts":        {value: []string{"a"}, want: []any{"a"}},
		"map with nil":         {value: map[string]any{"a": nil}, want: map[string]any{"a": nil}},
		"key with bad UTF-8":   {value: map[string]any{"\xff": "x"}, want: map[string]any{"\xff": "x"}},
		"map without any":      {value: map[string]int{"a": 1}, want: map[string]any{"a": int64(1)}},
		"nested":               {value: nested(400), want: nested(400)},
		"list of a million":    {value: make([]any, 1_000_000), want: make([]any, 1_000_000)},
		"structure as a value": {value: reply{Text: "x"}, want: map[string]any{"Text": "x"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			data, err := worker.Marshal(tt.value)
			if err != nil {
				t.Fatal(err)
			}
			var got any
			if err := worker.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			// go-cmp takes twice as long for each level of nesting.
			if !reflect.DeepEqual(tt.want, got) {
				t.Errorf("value %.100v, not %.100v", got, tt.want)
			}
		})
	}
}

// nested returns maps in lists in maps.
func nested(depth int) any {
	var value any = int64(1)
	for i := range depth {
		if i%2 == 0 {
			value = []any{value}
		} else {
			value = map[string]any{"a": value}
		}
	}

	return value
}

func TestUnmarshalRefuses(t *testing.T) {
	t.Parallel()

	encoded := func(value any) []byte {
		data, err := worker.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}

		return data
	}
	tests := map[string]struct {
		data []byte
		want string
	}{
		"nothing":              {want: "EOF"},
		"integer beyond int64": {data: encoded(uint64(math.MaxUint64)), want: "cannot"},
		"too deep":             {data: encoded(nested(600)), want: "nested level"},
		"many values":          {data: append([]byte{0x9b, 0, 0, 0, 0, 0, 0x60, 0, 0}, make([]byte, 6<<20)...), want: "more than 4194304 values"},
		"long list of nothing": {data: []byte{0x9b, 0, 0, 0, 1, 0, 0, 0, 0}, want: "exceeded"},
		"long text of nothing": {data: []byte{0x7b, 0x7f, 255, 255, 255, 255, 255, 255, 255}, want: "EOF"},
		"endless list":         {data: []byte{0x9f, 0xff}, want: "indefinite"},
		"tag":                  {data: []byte{0xc0, 0x61, 'x'}, want: "tag"},
		"key twice":            {data: []byte{0xa2, 0x61, 'a', 1, 0x61, 'a', 2}, want: "duplicate"},
		"more than one value":  {data: []byte{1, 2}, want: "extraneous"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var got any
			err := worker.Unmarshal(tt.data, &got)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, not one with %q", err, tt.want)
			}
		})
	}
}

func TestEqualMapsHaveEqualBytes(t *testing.T) {
	t.Parallel()

	value := map[string]any{}
	for key := range strings.SplitSeq("the quick brown fox jumps over a lazy dog", " ") {
		value[key] = key
	}
	first, err := worker.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if next, err := worker.Marshal(value); err != nil || !bytes.Equal(first, next) {
			t.Fatalf("the bytes differ, or an error: %v", err)
		}
	}
}

func FuzzUnmarshal(f *testing.F) {
	for _, value := range []any{nil, "text", 1e6, nested(10), map[string]any{"a": []any{nil}}} {
		data, err := worker.Marshal(value)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var value any
		if err := worker.Unmarshal(data, &value); err != nil {
			return
		}
		again, err := worker.Marshal(value)
		if err != nil {
			t.Fatalf("encoding what was decoded: %v", err)
		}
		if err := worker.Unmarshal(again, &value); err != nil {
			t.Errorf("decoding it again: %v", err)
		}
	})
}
