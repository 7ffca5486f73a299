package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// furtherPages counts all pages of lists but the first.
const furtherPages = "further pages"

// requestCounter is a proxy in front of the management cluster that counts the requests of the
// provider.
type requestCounter struct {
	proxy      *faulttest.Proxy
	kubeconfig string

	mu         sync.Mutex
	requests   map[string]int
	firstWrite time.Time // of a Bundle
}

func countRequests(fleet *testenv.Fleet, dir string) (*requestCounter, error) {
	proxy, err := faulttest.Start(fleet.Management())
	if err != nil {
		return nil, fmt.Errorf("starting a proxy before the management cluster: %w", err)
	}
	c := &requestCounter{proxy: proxy, kubeconfig: filepath.Join(dir, "kubeconfig"), requests: map[string]int{}}
	proxy.Set(c.count)
	config := clientcmdapi.NewConfig()
	addContext(config, testenv.FleetManagement, proxy, fleet.Management().Token())
	if err := writeKubeconfig(c.kubeconfig, config); err != nil {
		proxy.Close()
		return nil, err
	}
	return c, nil
}

// count is a rule that lets every request pass.
func (c *requestCounter) count(request *http.Request) faulttest.Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := faulttest.Verb(request)
	if request.URL.Query().Get("continue") != "" {
		kind = furtherPages
	}
	c.requests[kind]++
	if request.Method != http.MethodGet && strings.Contains(request.URL.Path, "/bundles") && c.firstWrite.IsZero() {
		c.firstWrite = time.Now()
	}
	return faulttest.Fault{}
}

// start discards earlier counts.
func (c *requestCounter) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests, c.firstWrite = map[string]int{}, time.Time{}
}

// counted returns the requests since start by verb, and the time of the first write of a Bundle.
func (c *requestCounter) counted() (map[string]int, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	counted := c.requests
	c.requests = map[string]int{}
	return counted, c.firstWrite
}
