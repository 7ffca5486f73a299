package provider_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// stateServer is a server for Terraform's backend "http", with locks. A lock is a
// lease in it: a test ends those of a run that was killed.
type stateServer struct {
	*httptest.Server

	mu     sync.Mutex
	state  []byte
	holder string
	lock   []byte
	// writing runs when a state arrives, and stored when it is kept but not yet
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
		return // The client went away.
	}
	if request.Method == http.MethodPost {
		writing, stored := s.runs()
		if writing != nil {
			writing()
			<-request.Context().Done()
			return // Whoever was killed while sending has sent nothing.
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

// current is the state that was sent last.
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

// onWrite sets what runs when a state arrives, and then it is lost, or when it is
// stored; nil for nothing.
func (s *stateServer) onWrite(writing, stored func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing, s.stored = writing, stored
}

// expire ends the lease of a run that was killed, and says whether there was one.
func (s *stateServer) expire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.holder != ""
	s.holder, s.lock = "", nil
	return held
}
