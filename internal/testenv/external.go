package testenv

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	kubeconfigVariable = "FLEET_TEST_KUBECONFIG"
	contextsVariable   = "FLEET_TEST_CONTEXTS"
	// sharedVariable is the path of the kubeconfig of local clusters that another process runs.
	sharedVariable = "FLEET_TEST_SHARED"
)

func existingClusters() (kubeconfig string, contexts []string, ok bool) {
	kubeconfig = os.Getenv(kubeconfigVariable)
	for name := range strings.SplitSeq(os.Getenv(contextsVariable), ",") {
		if name = strings.TrimSpace(name); name != "" {
			contexts = append(contexts, name)
		}
	}
	return kubeconfig, contexts, kubeconfig != "" && len(contexts) > 0
}

// connect returns the first clusters of contexts. Each of these clusters must respond.
func connect(ctx context.Context, kubeconfig string, contexts []string, options Options) (*Env, error) {
	if len(contexts) < options.Clusters {
		return nil, fmt.Errorf("%d clusters are needed, but %s names %d", options.Clusters, contextsVariable, len(contexts))
	}
	env := &Env{kubeconfig: kubeconfig, external: true}
	for _, name := range contexts[:options.Clusters] {
		config, err := existingConfig(kubeconfig, name)
		if err != nil {
			return nil, fmt.Errorf("context %q of %s: %w", name, kubeconfig, err)
		}
		options.Log("using the existing cluster of context %s at %s", name, config.Host)
		ready, err := newReadiness(config, func() error { return nil })
		if err != nil {
			return nil, fmt.Errorf("context %q of %s: %w", name, kubeconfig, err)
		}
		if err := attempt(ctx, ready.answers); err != nil {
			return nil, fmt.Errorf("context %q of %s: the API server is not ready: %w", name, kubeconfig, err)
		}
		env.clusters = append(env.clusters, &Cluster{context: name, config: config})
	}
	return env, nil
}

// connectShared returns the first clusters of a kubeconfig that another process has written for its
// environment. They are local clusters like those that this process could start.
func connectShared(ctx context.Context, path string, options Options) (*Env, error) {
	kubeconfig, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", sharedVariable, err)
	}
	env, err := connect(ctx, path, slices.Sorted(maps.Keys(kubeconfig.Contexts)), options)
	if err != nil {
		return nil, err
	}
	env.external = false
	return env, nil
}

func existingConfig(kubeconfig, name string) (*rest.Config, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: name},
	).ClientConfig()
	if err != nil {
		return nil, err
	}
	// Certificates in files are read, so that a test can pass on their content.
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, err
	}
	return config, nil
}
