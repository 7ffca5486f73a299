package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// A network connects contenders to clusters.
type network struct {
	latency    time.Duration
	kubeconfig string
	proxies    []*faulttest.Proxy

	mu       sync.Mutex
	requests map[string]int // by verb
}

func (n *network) name() string {
	if n.latency == 0 {
		return "loopback"
	}
	return n.latency.String()
}

// connect creates a network. Without latency, there is no proxy between contender and cluster.
func connect(env *testenv.Env, latency time.Duration, dir string) (*network, error) {
	n := &network{latency: latency, kubeconfig: env.Kubeconfig()}
	if latency == 0 {
		return n, nil
	}
	config := clientcmdapi.NewConfig()
	for i, name := range env.Contexts() {
		if err := n.proxy(env.Cluster(i), name, config); err != nil {
			n.close()
			return nil, err
		}
	}
	n.kubeconfig = filepath.Join(dir, "kubeconfig-"+n.name())
	if err := writeKubeconfig(n.kubeconfig, config); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// proxy starts a proxy in front of a cluster and adds it to a kubeconfig.
func (n *network) proxy(cluster *testenv.Cluster, name string, config *clientcmdapi.Config) error {
	if cluster.Token() == "" {
		return fmt.Errorf("cluster %s is reached without a token, which would not pass through a proxy: choose a latency of 0", name)
	}
	proxy, err := faulttest.Start(cluster)
	if err != nil {
		return fmt.Errorf("starting a proxy before cluster %s: %w", name, err)
	}
	n.proxies = append(n.proxies, proxy)
	proxy.Set(n.count)
	addContext(config, name, proxy, cluster.Token())
	return proxy.Disturb(faulttest.Disturbance{Latency: n.latency})
}

func addContext(config *clientcmdapi.Config, name string, proxy *faulttest.Proxy, token string) {
	config.Clusters[name] = &clientcmdapi.Cluster{Server: proxy.Host(), CertificateAuthorityData: proxy.CACertificate()}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
}

func writeKubeconfig(path string, config *clientcmdapi.Config) error {
	content, err := clientcmd.Write(*config)
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing a kubeconfig: %w", err)
	}
	return nil
}

func (n *network) close() {
	for _, proxy := range n.proxies {
		proxy.Close()
	}
}

// count is a rule that lets every request pass.
func (n *network) count(request *http.Request) faulttest.Fault {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.requests != nil {
		n.requests[faulttest.Verb(request)]++
	}
	return faulttest.Fault{}
}

// startCounting discards earlier counts.
func (n *network) startCounting() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests = map[string]int{}
}

// counted returns the requests to all clusters by verb, nil if there is no proxy to count them.
func (n *network) counted() map[string]int {
	n.mu.Lock()
	defer n.mu.Unlock()
	counted := n.requests
	n.requests = nil
	if n.latency == 0 {
		return nil
	}
	return counted
}

// clientConfig returns the configuration of a client without a rate limit.
func clientConfig(kubeconfig, name string) (*rest.Config, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: name},
	).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading context %s of the kubeconfig: %w", name, err)
	}
	config.QPS = -1
	return config, nil
}
