package charttest

import (
	"net/http"
	"strings"
	"sync"
)

// traffic counts the requests of a server, and has their faults.
type traffic struct {
	mu       sync.Mutex
	faults   map[string]Fault // By path.
	requests map[string]int   // By path.
	running  int              // Requests without a whole response.
	seen     []string         // Authorization headers.
}

// Break makes all responses under a path faulty. Fault 0 ends that.
func (s *Server) Break(path string, fault Fault) { s.traffic.spoil(path, fault) }

// Requests counts the requests for paths that begin with prefix, refused ones
// too.
func (s *Server) Requests(prefix string) int { return s.traffic.count(prefix) }

// Running counts the requests that wait for their response.
func (s *Server) Running() int {
	s.traffic.mu.Lock()
	defer s.traffic.mu.Unlock()
	return s.traffic.running
}

// Authorizations returns the Authorization headers that clients have sent, in their order.
func (s *Server) Authorizations() []string { return s.traffic.authorizations() }

func (t *traffic) spoil(path string, fault Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults[path] = fault
}

func (t *traffic) count(prefix string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	total := 0
	for path, count := range t.requests {
		if strings.HasPrefix(path, prefix) {
			total += count
		}
	}
	return total
}

func (t *traffic) authorizations() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.seen...)
}

// note counts a request and returns its fault.
func (t *traffic) note(r *http.Request) Fault {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests[r.URL.Path]++
	t.running++
	if header := r.Header.Get("Authorization"); header != "" {
		t.seen = append(t.seen, header)
	}
	fault := t.faults[r.URL.Path]
	if fault == FailOnce {
		delete(t.faults, r.URL.Path)
	}
	return fault
}

func (t *traffic) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
}
