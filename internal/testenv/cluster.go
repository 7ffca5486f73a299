package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ErrExternal reports an operation that is not possible on a cluster that this package did not
// start. A test then skips.
var ErrExternal = errors.New("the cluster is an existing one, not started by the test environment")

// A Cluster is one Kubernetes cluster. Its methods may be called from several goroutines.
type Cluster struct {
	context string
	// local is nil for an existing cluster.
	local *controlPlane
	// changed is called, if set, when the address has changed.
	changed func() error

	mu     sync.Mutex
	config *rest.Config
	// ending are the namespaces of RemoveAtEnd.
	ending []string
}

// Context returns the name of the cluster's context in the environment's kubeconfig.
func (c *Cluster) Context() string { return c.context }

// Host returns the URL of the API server, such as "https://127.0.0.1:41234".
func (c *Cluster) Host() string { return c.RESTConfig().Host }

// CACertificate returns the PEM bundle that verifies the API server. An existing cluster may have
// none.
func (c *Cluster) CACertificate() []byte { return c.RESTConfig().CAData }

// Token returns a bearer token with all rights. It is empty for an existing cluster whose
// kubeconfig authenticates in another way.
func (c *Cluster) Token() string { return c.RESTConfig().BearerToken }

// RESTConfig returns a copy of the settings to reach the cluster with all rights. Clients made from it
// send requests as fast as they can. By default client-go allows five a second.
func (c *Cluster) RESTConfig() *rest.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	config := rest.CopyConfig(c.config)
	config.QPS = -1
	return config
}

// Stop makes the cluster unreachable: connections are refused. It keeps its data and its address.
func (c *Cluster) Stop(ctx context.Context) error {
	if c.local == nil {
		return ErrExternal
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.local.stop(ctx)
}

// Start starts a stopped cluster again and returns when it is ready.
func (c *Cluster) Start(ctx context.Context) error {
	if c.local == nil {
		return ErrExternal
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.local.start(ctx, c.config); err != nil {
		return fmt.Errorf("starting cluster %s: %w", c.context, err)
	}
	return nil
}

// Move restarts the cluster at another port and returns when it is ready there. It also rewrites
// the environment's kubeconfig. Settings that were read from the cluster before still have the old
// address, where nothing listens any more.
func (c *Cluster) Move(ctx context.Context) error {
	if c.local == nil {
		return ErrExternal
	}
	if err := c.move(ctx); err != nil {
		return fmt.Errorf("moving cluster %s: %w", c.context, err)
	}
	return c.changed()
}

func (c *Cluster) move(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.local.stop(ctx); err != nil {
		return err
	}
	if err := c.local.changePort(); err != nil {
		return err
	}
	c.config = c.local.restConfig()
	return c.local.start(ctx, c.config)
}

// addTo adds the cluster to a kubeconfig, with a cluster, a user and a context of the same name.
func (c *Cluster) addTo(kubeconfig *clientcmdapi.Config, token string) {
	config := c.RESTConfig()
	kubeconfig.Clusters[c.context] = &clientcmdapi.Cluster{
		Server:                   config.Host,
		CertificateAuthorityData: config.CAData,
		InsecureSkipTLSVerify:    config.Insecure,
		TLSServerName:            config.ServerName,
	}
	kubeconfig.AuthInfos[c.context] = &clientcmdapi.AuthInfo{Token: token}
	kubeconfig.Contexts[c.context] = &clientcmdapi.Context{Cluster: c.context, AuthInfo: c.context}
}

// write stores content at path so that a reader sees either the old or the new content.
func write(path string, content []byte) error {
	unfinished := path + ".unfinished"
	if err := os.WriteFile(unfinished, content, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(unfinished, path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
