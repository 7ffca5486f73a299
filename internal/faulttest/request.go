package faulttest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// IsWrite reports whether a request changes something. Access reviews are posted and change
// nothing.
func IsWrite(request *http.Request) bool {
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return !strings.Contains(request.URL.Path, "/apis/authorization.k8s.io/") && !strings.Contains(request.URL.Path, "/apis/authentication.k8s.io/")
}

// IsList reports whether a request lists objects of the resource, such as "secrets", or of any
// resource if it is "".
func IsList(request *http.Request, resource string) bool {
	parts := objectPath(request)
	return request.Method == http.MethodGet && !IsWatch(request) && len(parts) == 1 && (resource == "" || parts[0] == resource)
}

// IsWatch reports whether the response to a request does not end by itself. An API server treats
// every value as true but these (k8s.io/apimachinery, pkg/runtime, conversion of strings to bool).
func IsWatch(request *http.Request) bool {
	query := request.URL.Query()
	watch := strings.ToLower(query.Get("watch"))
	return query.Has("watch") && watch != "false" && watch != "0"
}

// Holds reports whether the body of a request contains a text. It leaves the body as it was.
func Holds(request *http.Request, text string) bool {
	if request.Body == nil {
		return false
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return false
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	return bytes.Contains(body, []byte(text))
}

// Hold returns when the client has cancelled the request.
func Hold(request *http.Request) { <-request.Context().Done() }

func accepts(request *http.Request, kind string) bool {
	return strings.Contains(request.Header.Get("Accept"), kind)
}
