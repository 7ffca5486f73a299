package acceptance_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// stateServer is a server for Terraform's backend "http", with locks. A lock is a lease: a test
// ends the leases of a killed run.
type stateServer struct {
	*httptest.Server

	mu     sync.Mutex
	state  []byte
	holder string
	lock   []byte
	// writing runs when a state arrives, and stored runs when the state is stored but not yet
	// confirmed.
	writing, stored func()
}

func newStateServer(t *testing.T) *stateServer {
	t.Helper()
	s := &stateServer{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP serves one request of Terraform.
func (s *stateServer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // The client has closed the connection.
	}
	if request.Method == http.MethodPost {
		writing, stored := s.runs()
		if writing != nil {
			writing()
			<-request.Context().Done()
			return // A client that was killed while it was sending has sent nothing.
		}
		if stored != nil {
			defer stored()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch request.Method {
	case http.MethodGet:
		if len(s.state) == 0 {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = w.Write(s.state)
	case http.MethodPost:
		if s.holder != "" && request.URL.Query().Get("ID") != s.holder {
			w.WriteHeader(http.StatusLocked)
			return
		}
		s.state = bytes.Clone(body)
	case "LOCK":
		if s.holder != "" {
			w.WriteHeader(http.StatusLocked)
			_, _ = w.Write(s.lock)
			return
		}
		var lock struct{ ID string }
		if err := json.Unmarshal(body, &lock); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.holder, s.lock = lock.ID, body
	case "UNLOCK":
		s.holder, s.lock = "", nil
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// current returns the state that was sent last.
func (s *stateServer) current() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.state)
}

func (s *stateServer) runs() (writing, stored func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writing, s.stored
}

// onWrite sets functions, or nil. writing runs when a state arrives, and the state is then lost.
// stored runs when a state is stored.
func (s *stateServer) onWrite(writing, stored func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing, s.stored = writing, stored
}

// expire ends the lease of a killed run, and reports whether there was one.
func (s *stateServer) expire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.holder != ""
	s.holder, s.lock = "", nil
	return held
}
