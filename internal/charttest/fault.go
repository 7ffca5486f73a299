package charttest

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
)

// Fault is a fault of a response.
type Fault int

// The faults of a server.
const (
	// Truncate closes the connection in the middle of the response.
	Truncate Fault = iota + 1
	// Hang sends a part of the response, and then nothing more.
	Hang
	// HangSilently accepts the request and sends nothing.
	HangSilently
	// Corrupt changes a byte of the response.
	Corrupt
	// FailOnce responds with status 503, the first time only.
	FailOnce
	// Fail responds with status 503.
	Fail
)

// spoil returns valid content in a faulty way.
func spoil(w http.ResponseWriter, r *http.Request, good *httptest.ResponseRecorder, fault Fault, closing <-chan struct{}) {
	content := good.Body.Bytes()
	maps.Copy(w.Header(), good.Header())
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	w.WriteHeader(good.Code)
	half := len(content) / 2
	if fault == Corrupt {
		content = append([]byte(nil), content...)
		content[half] ^= 1
		_, _ = w.Write(content)
		return
	}
	_, _ = w.Write(content[:half])
	if flusher, ok := w.(http.Flusher); ok {
		flusher.Flush()
	}
	if fault == Hang {
		hang(r, closing)
	}
	panic(http.ErrAbortHandler)
}

// hang waits until the client or the test ends.
func hang(r *http.Request, closing <-chan struct{}) {
	select {
	case <-r.Context().Done():
	case <-closing:
	}
}
