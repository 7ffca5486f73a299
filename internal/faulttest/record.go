package faulttest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Call is one request in the terms of an API server's access rules.
type Call struct {
	// Verb is a verb of Kubernetes: get, list, watch, create, update, patch, delete,
	// deletecollection. For a path that is no object, such as /apis of discovery, it is the method
	// in lower case.
	Verb string
	// URL is the path with its query.
	URL string
	// Status is the status of the response, 0 if there was none.
	Status int
}

func (c Call) String() string { return fmt.Sprintf("%s %s (%d)", c.Verb, c.URL, c.Status) }

// Reads reports whether the call only reads objects or discovery. A watch does not count: it needs
// another right.
func (c Call) Reads() bool { return c.Verb == "get" || c.Verb == "list" }

// Record records all requests from now on, and discards earlier ones.
func (p *Proxy) Record() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recording, p.calls = true, nil
}

// Recorded returns the finished requests since Record, in the order of their responses.
func (p *Proxy) Recorded() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// recorded wraps the response to a request. done records the call.
func (p *Proxy) recorded(w http.ResponseWriter, request *http.Request) (answer http.ResponseWriter, done func()) {
	noted := &noting{ResponseWriter: w}
	call := Call{Verb: Verb(request), URL: request.URL.RequestURI()}
	return noted, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.recording {
			call.Status = noted.status
			p.calls = append(p.calls, call)
		}
	}
}

// noting records the status of a response.
type noting struct {
	http.ResponseWriter
	status int
}

func (n *noting) WriteHeader(status int) {
	n.status = status
	n.ResponseWriter.WriteHeader(status)
}

// Unwrap makes it possible to flush a streamed response.
func (n *noting) Unwrap() http.ResponseWriter { return n.ResponseWriter }

// Verb returns the verb of a request in the terms of Kubernetes' access rules.
func Verb(request *http.Request) string {
	parts := objectPath(request)
	if len(parts) == 0 {
		return strings.ToLower(request.Method)
	}
	named := len(parts) > 1
	switch request.Method {
	case http.MethodGet, http.MethodHead:
		switch {
		case IsWatch(request):
			return "watch"
		case named:
			return "get"
		}
		return "list"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodDelete:
		if !named {
			return "deletecollection"
		}
	}
	return strings.ToLower(request.Method)
}

// objectPath returns the part of a path from the resource on: the resource, perhaps a name, perhaps
// more. It is empty for a path that is no object.
func objectPath(request *http.Request) []string {
	const core, grouped = 2, 3 // /api/v1/… and /apis/apps/v1/…
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > core:
		parts = parts[core:]
	case parts[0] == "apis" && len(parts) > grouped:
		parts = parts[grouped:]
	default:
		return nil
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	return parts
}
