package connect

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// RedirectError reports that a server responded with a redirect. An API server never redirects a
// client. A client that follows a redirect sends its credentials to another host.
type RedirectError struct {
	// Host is the host that the server redirects to.
	Host string
}

func (e *RedirectError) Error() string {
	return fmt.Sprintf("the server redirects to %s. Redirects are not followed, because the credentials would be sent there. "+
		"Check that the address of the cluster is the address of its API server", e.Host)
}

// TooLargeError reports that a response is larger than its limit.
type TooLargeError struct {
	// What is the kind of response, such as "a list", and Path the path of its URL.
	What, Path string
	// Limit is the limit in bytes.
	Limit int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the response to %s exceeds the limit for %s: %d MiB, or %d MiB of memory",
		e.Path, e.What, e.Limit>>20, e.Limit*expansion>>20)
}

// TooLarge reports that a smaller page of the list can succeed.
func (e *TooLargeError) TooLarge() bool { return true }

// Limits of one response, in bytes after decompression. By default etcd accepts objects of 1.5 MiB,
// and an API server accepts requests of 3 MiB.
const (
	objectLimit = 8 << 20
	// listLimit is for one page of a list. Helm and other libraries list without pages.
	listLimit     = 64 << 20
	documentLimit = 64 << 20 // of discovery and of OpenAPI
	failureLimit  = 1 << 20  // of the response to a request that failed

	// expansion is the memory that a response may take, as a multiple of its length. Objects with
	// little content take far more memory than their JSON.
	expansion = 8
	// The memory that one object and one item take, in bytes, in addition to their text.
	objectWeight, itemWeight = 256, 24
)

// limitingTransport is a transport that fails on a redirect and on a response that is too large.
type limitingTransport struct {
	wrapper
	// prefix is the path under which the API server is served.
	prefix string
}

func (l limitingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(request)
	if err != nil {
		return response, err
	}
	if target := response.Header.Get("Location"); target != "" && isRedirect(response.StatusCode) {
		_ = response.Body.Close()
		return nil, &RedirectError{Host: hostOf(request.URL, target)}
	}
	response.Body = l.limit(request, response)
	return response, nil
}

func isRedirect(code int) bool {
	return code >= http.StatusMultipleChoices && code < http.StatusBadRequest
}

// hostOf returns the host of a redirect, without a path or a query, because these can contain
// secrets.
func hostOf(from *url.URL, target string) string {
	to, err := from.Parse(target)
	if err != nil || to.Host == "" {
		return "an invalid address"
	}
	return to.Host
}

func (l limitingTransport) limit(request *http.Request, response *http.Response) io.ReadCloser {
	what, limit := responseLimit(strings.TrimPrefix(request.URL.Path, l.prefix))
	watches := request.URL.Query().Has("watch")
	switch {
	case response.StatusCode >= http.StatusBadRequest:
		what = "an error"
		limit = failureLimit
		watches = false
	case watches:
		what = "an event"
		if strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
			limit = objectLimit
		} else {
			watches = false // Events cannot be separated, so all of them count.
		}
	}
	all := budget{bytes: limit, memory: limit * expansion}
	body := &limitedBody{ReadCloser: response.Body, budget: all, exceeded: &TooLargeError{What: what, Path: request.URL.Path, Limit: limit}}
	if watches {
		body.each = &all
	}
	return body
}

// responseLimit returns what an API server sends for a path, and the limit of that response.
func responseLimit(path string) (what string, limit int64) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2: // api, version, resource
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3: // apis, group, version, resource
		parts = parts[3:]
	default:
		return "a document", documentLimit
	}
	if parts[0] == "namespaces" && len(parts) > 2 { // namespaces, name, resource
		parts = parts[2:]
	}
	if len(parts) == 1 {
		return "a list", listLimit
	}
	return "an object", objectLimit
}

// budget is how much may still be read.
type budget struct{ bytes, memory int64 }

// spend subtracts the cost of content, and reports whether the budget was large enough.
func (b *budget) spend(content []byte) bool {
	length := int64(len(content))
	b.bytes -= length
	b.memory -= length + int64(bytes.Count(content, []byte{'{'}))*objectWeight + int64(bytes.Count(content, []byte{','}))*itemWeight
	return b.bytes >= 0 && b.memory >= 0
}

// limitedBody is a response that fails when it is too large. The response to a watch is a sequence of
// JSON objects without end, each with a limit: json.Decoder, which reads it, buffers a whole object
// before it returns any of it.
type limitedBody struct {
	io.ReadCloser

	budget   budget
	exceeded *TooLargeError
	failed   bool

	// each is the budget of one event of a watch, nil if all content counts together.
	each             *budget
	depth            int
	quoted, escaping bool
}

func (l *limitedBody) Read(into []byte) (int, error) {
	if l.failed {
		return 0, l.exceeded
	}
	n, err := l.ReadCloser.Read(into)
	for content := into[:n]; len(content) > 0; {
		length, ended := len(content), false
		if l.each != nil {
			length, ended = l.event(content)
		}
		if !l.budget.spend(content[:length]) {
			l.failed = true
			_ = l.Close() // Nothing more is sent.
			return 0, l.exceeded
		}
		if ended {
			l.budget = *l.each
		}
		content = content[length:]
	}
	return n, err
}

// event returns how many bytes of content belong to the current event, and whether the event ends
// there.
func (l *limitedBody) event(content []byte) (length int, ended bool) {
	for i, char := range content {
		switch {
		case l.escaping:
			l.escaping = false
		case l.quoted:
			l.escaping = char == '\\'
			l.quoted = char != '"'
		case char == '"':
			l.quoted = true
		case char == '{' || char == '[':
			l.depth++
		case char == '}' || char == ']':
			if l.depth--; l.depth <= 0 {
				l.depth = 0
				return i + 1, true
			}
		}
	}
	return len(content), false
}
