package faulttest_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
)

func TestGzip(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before, text string
		count        int
		after        string
	}{
		"nothing":         {},
		"none":            {before: "a", text: "b", after: "c"},
		"one":             {before: "a", text: "b", count: 1, after: "c"},
		"short copies":    {before: `{"a":[[]`, text: ",[]", count: 100_001, after: "]}"},
		"a long one":      {text: strings.Repeat("#", 1<<20), count: 1},
		"long copies":     {before: "#", text: strings.Repeat("#", 1<<20), count: 5, after: "#"},
		"like the former": {before: "abcabcabc", text: "abc", count: 30_000, after: "abcabc"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			packed := faulttest.Gzip(test.before, test.text, test.count, test.after)
			stream := bytes.NewReader(packed)
			reader, err := gzip.NewReader(stream)
			if err != nil {
				t.Fatal(err)
			}
			reader.Multistream(false)
			got, err := io.ReadAll(reader)
			if err != nil {
				t.Fatal(err)
			}
			if want := test.before + strings.Repeat(test.text, test.count) + test.after; string(got) != want {
				t.Errorf("%d bytes are unpacked, want the %d given", len(got), len(want))
			}
			if stream.Len() > 0 {
				t.Errorf("%d bytes follow the stream", stream.Len())
			}
			if most := len(got)/200 + 200; len(packed) > most {
				t.Errorf("%d bytes are packed into %d, want at most %d", len(got), len(packed), most)
			}
		})
	}
}
