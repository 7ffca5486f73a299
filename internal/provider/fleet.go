package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kustomize"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// settings are the provider's configuration in plain values.
type settings struct {
	owner         string
	parallelism   int
	onUnreachable string
	onMissing     string
	cacheDir      string

	clusters           map[string]*member
	clustersUnknown    bool
	groups             []target.Group
	groupsUnknown      bool
	credentials        map[string]git.Credentials
	registries         map[string]helm.Registry
	credentialsUnknown bool
}

// fleet is what one configured provider works with. Clients are made when they
// are first needed.
type fleet struct {
	settings
	charts  *helm.Charts
	fetcher *helm.Fetcher
	public  *helm.Fetcher // Without credentials.
	git     *git.Client
	source  *source.Store
	engine  *deploy.Engine

	// workspace is that of the state of all targets of this provider.
	workspace   string
	claims      claims
	successions successions
	uids        sync.Map // name of a cluster -> its UID, as far as it was seen
	glances     sync.Map // name of a cluster -> *glance
	instances   sync.Map // ids of the targets that the state knows, as far as they were seen
}

// member is one entry of clusters: facts, and a connection that is made once.
type member struct {
	name              string
	facts             target.Cluster
	factsUnknown      bool
	connection        kube.Connection
	connectionUnknown bool

	once   sync.Once
	client *clusterClient
	err    error
}

func newFleet(s settings) (*fleet, error) {
	fetcher, err := helm.NewFetcher(helm.FetchConfig{Registries: s.registries})
	if err != nil {
		return nil, err
	}
	public, err := helm.NewFetcher(helm.FetchConfig{Registries: withoutCredentials(s.registries)})
	if err != nil {
		return nil, err
	}
	f := &fleet{settings: s, charts: &helm.Charts{Kustomize: kustomize.Build}, fetcher: fetcher, public: public, workspace: workspace()}
	f.claims.ledger = newLedger(f.workspace, s.owner)
	f.git = git.New(git.Config{Credentials: s.credentials, TempDir: s.cacheDir, CacheDir: s.cacheDir})
	f.source = source.New(f.git, fetcher, public)
	f.engine = deploy.New(func(name string) (deploy.Cluster, error) { return f.connect(name) }, s.parallelism)
	return f, nil
}

// withoutCredentials keeps what says how to reach registries, and not as whom.
func withoutCredentials(registries map[string]helm.Registry) map[string]helm.Registry {
	public := make(map[string]helm.Registry, len(registries))
	for prefix, registry := range registries {
		registry.Username, registry.Password, registry.Token = "", "", ""
		public[prefix] = registry
	}
	return public
}

// MissingClusterError says that clusters has no such entry.
type MissingClusterError struct {
	Name  string
	Known []string
}

func (e *MissingClusterError) Error() string {
	return fmt.Sprintf("the provider's clusters hold no %q, only %s", e.Name, strings.Join(e.Known, ", "))
}

// errConnectionUnknown is the answer for a cluster that is not made yet.
type unknownConnectionError struct{ name string }

func (e *unknownConnectionError) Error() string {
	return fmt.Sprintf("the connection of cluster %s is not known yet", e.name)
}

// connect finds a cluster's client. It reads kubeconfig files and dials nothing.
func (f *fleet) connect(name string) (*clusterClient, error) {
	found, ok := f.clusters[name]
	if !ok {
		return nil, &MissingClusterError{Name: name, Known: slices.Sorted(maps.Keys(f.clusters))}
	}
	if found.connectionUnknown {
		return nil, &unknownConnectionError{name: name}
	}
	found.once.Do(func() {
		connection, err := kube.New(found.connection)
		if err != nil {
			found.err = fmt.Errorf("reading the connection of cluster %s: %w", name, err)
			return
		}
		found.client = &clusterClient{name: name, kube: connection, helm: helm.New(connection, connection, f.charts)}
	})
	return found.client, found.err
}

// facts are the clusters that targeting can choose from, by name, and the names
// of those whose facts are unknown.
func (f *fleet) facts() (known []target.Cluster, unknown []string) {
	for _, name := range slices.Sorted(maps.Keys(f.clusters)) {
		if f.clusters[name].factsUnknown {
			unknown = append(unknown, name)
			continue
		}
		known = append(known, f.clusters[name].facts)
	}
	return known, unknown
}

// clusterClient joins what the helm and the kube room know of one cluster, and
// gives errors their type.
type clusterClient struct {
	name string
	kube *kube.Client
	helm *helm.Client
}

var (
	_ deploy.Cluster = (*clusterClient)(nil)
	_ helm.Waiter    = (*kube.Client)(nil)
)

func (c *clusterClient) Look(ctx context.Context) (release.Snapshot, error) {
	releases, err := c.helm.Releases(ctx)
	if err != nil {
		return release.Snapshot{}, kube.Classify(c.name, err)
	}
	uid, err := c.kube.UID(ctx)
	if err != nil && !kube.IsDenied(err) {
		return release.Snapshot{}, kube.Classify(c.name, err)
	}
	return release.Snapshot{UID: uid, Releases: releases}, nil
}

func (c *clusterClient) Release(ctx context.Context, namespace, name string) (*release.Observed, error) {
	observed, err := c.helm.Release(ctx, namespace, name)
	return observed, kube.Classify(c.name, err)
}

func (c *clusterClient) Ready(ctx context.Context, observed release.Observed) error {
	return kube.Classify(c.name, c.helm.Ready(ctx, observed))
}

func (c *clusterClient) Versions(ctx context.Context, references []target.Reference) (map[target.Reference]string, error) {
	versions, err := c.helm.Versions(ctx, references)
	return versions, kube.Classify(c.name, err)
}

func (c *clusterClient) Write(ctx context.Context, action release.Action, d target.Deployment, observed *release.Observed, w release.Write) (release.Written, error) {
	written, err := c.helm.Write(ctx, action, d, observed, w)
	return written, kube.Classify(c.name, err)
}

func (c *clusterClient) Uninstall(ctx context.Context, observed release.Observed, spare map[string]bool, timeout time.Duration) error {
	return kube.Classify(c.name, c.helm.Uninstall(ctx, observed, spare, timeout))
}
