package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

const clusterCount = 3

// clusterNames are the names of the clusters in the configuration.
func clusterNames() []string { return []string{"dev", "main", "edge"} }

// clusters can be started and stopped.
type clusters interface {
	up(ctx context.Context, work string) (kubeconfig string, contexts []string, err error)
	down(ctx context.Context) error
}

func clustersOf(kind string) (clusters, error) {
	switch kind {
	case "local":
		return &localClusters{}, nil
	case realKind:
		return &localClusters{nodes: true}, nil
	case "kind":
		return &kindClusters{}, nil
	case "contexts":
		return contextClusters{}, nil
	case engineKind:
		return &engineClusters{}, nil
	case "clean":
		return nil, nil // cleaning needs no clusters
	}
	return nil, fmt.Errorf("unknown clusters %q: local, real, kind, contexts or fleet", kind)
}

// realKind selects local clusters with real nodes, whose pods run.
const realKind = "real"

// localClusters are control planes built from Go modules.
type localClusters struct {
	nodes bool
	env   *testenv.Env
}

func (c *localClusters) up(ctx context.Context, work string) (string, []string, error) {
	log := func(format string, args ...any) { fmt.Printf("    "+format+"\n", args...) }
	env, err := testenv.Start(ctx, testenv.Options{Clusters: clusterCount, Nodes: c.nodes, Parent: work, Log: log})
	if err != nil {
		return "", nil, err
	}
	c.env = env
	return env.Kubeconfig(), env.Contexts(), nil
}

func (c *localClusters) down(ctx context.Context) error {
	if c.env == nil {
		return nil
	}
	return c.env.Stop(ctx)
}

// kindClusters are created by the kind of the developer tools, with KIND_IMAGE and KIND_CONFIG as in
// make testacc-kind. The kubeconfig of the user stays unchanged.
type kindClusters struct {
	kubeconfig string
	made       []string
}

func (c *kindClusters) up(ctx context.Context, work string) (string, []string, error) {
	c.kubeconfig = filepath.Join(work, "kubeconfig")
	options := []string{"--wait", "2m"}
	for flag, variable := range map[string]string{"--image": "KIND_IMAGE", "--config": "KIND_CONFIG"} {
		if value := os.Getenv(variable); value != "" {
			options = append(options, flag, value)
		}
	}
	var contexts []string
	for i := range clusterCount {
		name := fmt.Sprintf("fleet-demo-%d", i+1)
		if err := c.kind(ctx, append([]string{"create", "cluster", "--name", name}, options...)...); err != nil {
			return "", nil, err
		}
		c.made = append(c.made, name)
		contexts = append(contexts, "kind-"+name)
	}
	return c.kubeconfig, contexts, nil
}

func (c *kindClusters) down(ctx context.Context) error {
	if len(c.made) == 0 {
		return nil
	}
	return c.kind(ctx, append([]string{"delete", "clusters"}, c.made...)...)
}

func (c *kindClusters) kind(ctx context.Context, args ...string) error {
	tool := append([]string{"tool", "-modfile=internal/tools/go.mod", "kind"}, args...)
	command := exec.CommandContext(ctx, "go", append(tool, "--kubeconfig", c.kubeconfig)...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("kind %s: %w", args[0], err)
	}
	return nil
}

// contextClusters are the clusters of KUBECONFIG. They stay when the demo ends.
type contextClusters struct{}

func (contextClusters) up(context.Context, string) (string, []string, error) {
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		return "", nil, errors.New("CLUSTERS=contexts needs KUBECONFIG, a file with at least three contexts")
	}
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return "", nil, fmt.Errorf("reading KUBECONFIG: %w", err)
	}
	contexts := sortedKeys(config.Contexts)
	if len(contexts) < clusterCount {
		return "", nil, fmt.Errorf("%s has %d contexts, the demo needs %d", path, len(contexts), clusterCount)
	}
	absolute, err := filepath.Abs(path)
	return absolute, contexts[:clusterCount], err
}

func (contextClusters) down(context.Context) error { return nil }
