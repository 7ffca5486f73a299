package source_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
)

func TestDescriptor(t *testing.T) {
	t.Parallel()
	read := &bundle.ReadOptions{RepoName: "fleet", Paths: []string{"apps/*"}, Strict: true}
	definition := &source.Definition{Name: "x", Options: fleetyaml.Definition{Options: fleetyaml.Options{Namespace: "n"}}}
	tests := []struct {
		name string
		d    source.Descriptor
	}{
		{"git", source.Descriptor{Bundle: "web", Spec: source.Spec{Git: &source.PinnedCommit{Repo: "https://example.com/x", Commit: "0123", Branch: "main"}, Read: read}}},
		{"directory", source.Descriptor{Bundle: "web", Spec: source.Spec{Directory: "../fleet", Read: read}}},
		{"definition", source.Descriptor{Bundle: "x", Spec: source.Spec{Directory: ".", Path: "a/b", Definition: definition}}},
		{"files", source.Descriptor{Bundle: "x", Spec: source.Spec{Files: map[string]string{"a": "1"}, Definition: definition}}},
		{"no files", source.Descriptor{Bundle: "x", Spec: source.Spec{Files: map[string]string{}, Definition: definition}}},
		{"many files", source.Descriptor{Bundle: "x", Spec: source.Spec{Files: map[string]string{"a": strings.Repeat("hello\n", 1e4)}, Definition: definition}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text, err := tt.d.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if len(text) > 4<<10 {
				t.Errorf("the descriptor has %d bytes", len(text))
			}
			got, err := source.Decode(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.d, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// packed returns JSON in the form of a descriptor.
func packed(tb testing.TB, content string) string {
	tb.Helper()
	var written bytes.Buffer
	writer := gzip.NewWriter(&written)
	if _, err := writer.Write([]byte(content)); err != nil {
		tb.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		tb.Fatal(err)
	}
	return "gz:" + base64.StdEncoding.EncodeToString(written.Bytes())
}

// A descriptor in the state of a user must always be readable by later releases. Its values cannot be
// read by people.
func TestDecodeVersion1(t *testing.T) {
	t.Parallel()
	text := packed(t, `{"v":1,"git":{"repo":"https://example.com/x","commit":"0123","branch":"main"},"definition":{"name":"x","options":{"namespace":"n"}},"bundle":"x"}`)
	want := source.Descriptor{Bundle: "x", Spec: source.Spec{
		Git:        &source.PinnedCommit{Repo: "https://example.com/x", Commit: "0123", Branch: "main"},
		Definition: &source.Definition{Name: "x", Options: fleetyaml.Definition{Options: fleetyaml.Options{Namespace: "n"}}},
	}}
	got, err := source.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if again, err := want.Encode(); err != nil || strings.Contains(again, "namespace") {
		t.Errorf("values can be read in %s: %v", again, err)
	}
}

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"empty", "", "not the descriptor"},
		{"another thing", packed(t, `{"password":"s3cret"}`), "version 0"},
		{"not packed", `{"v":1,"bundle":"s3cret"}`, "not the descriptor"},
		{"newer", packed(t, `{"v":2}`), "version 2"},
		{"no source", packed(t, `{"v":1,"bundle":"x"}`), "exactly one"},
		{"wrong type", packed(t, `{"v":1,"bundle":["s3cret"]}`), "not the descriptor"},
		{"not base64", "gz:s3cret!", "unpacking"},
		{"not gzip", "gz:aGVsbG8=", "unpacking"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := source.Decode(tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("Decode: %v, want an error about %q", err, tt.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(packed(f, `{"v":1,"git":{"repo":"https://example.com/x","commit":"0123"},"definition":{"name":"x","options":{}},"bundle":"x"}`))
	f.Add(packed(f, `{"v":1,"files":{},"read":{},"bundle":"x"}`))
	f.Add("gz:aGVsbG8=")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := source.Decode(text)
		if err != nil {
			return
		}
		again, err := d.Encode()
		if err != nil {
			t.Fatalf("%q is decoded but not encoded: %v", text, err)
		}
		same, err := source.Decode(again)
		if err != nil {
			t.Fatalf("%q is encoded as %q, which is not decoded: %v", text, again, err)
		}
		if final, err := same.Encode(); err != nil || final != again {
			t.Errorf("%q is encoded as %q, then as %q (%v)", text, again, final, err)
		}
	})
}
