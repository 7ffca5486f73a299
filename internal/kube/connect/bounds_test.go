package connect

import (
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
)

func TestWhatIsRead(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"/api":                                   "a document",
		"/api/v1":                                "a document",
		"/apis":                                  "a document",
		"/apis/apps/v1":                          "a document",
		"/openapi/v3/apis/apps/v1":               "a document",
		"/version":                               "a document",
		"/":                                      "a document",
		"":                                       "a document",
		"/api/v1/secrets":                        "a list",
		"/api/v1/namespaces":                     "a list",
		"/api/v1/namespaces/a":                   "an object",
		"/api/v1/namespaces/a/secrets":           "a list",
		"/api/v1/namespaces/a/secrets/b":         "an object",
		"/api/v1/namespaces/a/pods/b/log":        "an object",
		"/apis/apps/v1/deployments":              "a list",
		"/apis/apps/v1/namespaces/a/deployments": "a list",
		"/apis/apps/v1/namespaces/a/deployments/b/status": "an object",
		"/apis/example.com/v1/wholes/a":                   "an object",
	}
	for path, want := range tests {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			if got, limit := responseLimit(path); got != want || limit <= 0 {
				t.Errorf("%s, %d bytes, want %s", got, limit, want)
			}
		})
	}
}

func TestHostOfRedirect(t *testing.T) {
	t.Parallel()
	from := &url.URL{Scheme: "https", Host: "api.example.com", Path: "/api"}
	tests := map[string]string{
		"https://somebody@login.example.com/path?x=y": "login.example.com",
		"//other:8443/x": "other:8443",
		"/login":         "api.example.com",
		"https://%zz":    "an invalid address",
		"mailto:x":       "an invalid address",
	}
	for target, want := range tests {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			if got := hostOf(from, target); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestLimitedBody(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		content       string
		bytes, memory int64
		fails         bool
	}{
		"empty":           {},
		"just fits":       {content: strings.Repeat("a", 100), bytes: 100, memory: 100},
		"a byte too many": {content: strings.Repeat("a", 101), bytes: 100, memory: 1000, fails: true},
		"many objects":    {content: strings.Repeat("{}", 10), bytes: 100, memory: 10 * objectWeight, fails: true},
		"many items":      {content: strings.Repeat("0,", 10), bytes: 100, memory: 10 * itemWeight, fails: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := &limitedBody{
				ReadCloser: io.NopCloser(iotest.OneByteReader(strings.NewReader(test.content))),
				budget:     budget{bytes: test.bytes, memory: test.memory}, exceeded: &TooLargeError{},
			}
			got, err := io.ReadAll(body)
			if _, failed := errors.AsType[*TooLargeError](err); failed != test.fails {
				t.Errorf("error: %v, want one: %t", err, test.fails)
			}
			if err == nil && string(got) != test.content {
				t.Errorf("read %q", got)
			}
			if n, again := body.Read(make([]byte, 1)); test.fails && (n != 0 || again == nil || errors.Is(again, io.EOF)) {
				t.Errorf("read on: %d, %v", n, again)
			}
		})
	}
}

// The same events fit, however the stream is cut into pieces.
func FuzzLimitedEvents(f *testing.F) {
	f.Add([]byte(`{"a": "}"}`+"\n"+`{"b": [1, {}]}`), 12)
	f.Add([]byte(`{"a": "\\\"}"}{"b": 1}`), 16)
	f.Add([]byte(`]]]}}}"`), 3)
	f.Fuzz(func(t *testing.T, content []byte, limit int) {
		each := budget{bytes: int64(limit), memory: int64(limit) * expansion}
		read := func(from io.Reader) (string, bool) {
			events := &limitedBody{ReadCloser: io.NopCloser(from), budget: each, exceeded: &TooLargeError{}, each: &each}
			got, err := io.ReadAll(events)
			return string(got), err == nil
		}
		text := string(content)
		whole, fits := read(strings.NewReader(text))
		_, fitsInPieces := read(iotest.OneByteReader(strings.NewReader(text)))
		if fits != fitsInPieces {
			t.Errorf("fits as one: %t, in pieces: %t", fits, fitsInPieces)
		}
		if fits && whole != text {
			t.Errorf("read %q of %q", whole, text)
		}
	})
}
