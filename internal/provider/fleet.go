package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/sync/errgroup"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diff"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sandbox"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// settings are the provider's configuration in plain values.
type settings struct {
	owner         string
	ownerUnknown  bool
	parallelism   int
	onUnreachable string
	onMissing     string // "" when it is not known yet.
	cacheDir      string
	renderTimeout time.Duration // 0 for the default.

	clusters           map[string]*member
	clustersUnknown    bool
	groups             []target.Group
	groupsUnknown      bool
	credentials        map[string]git.Credentials
	credentialsUnknown bool
	registries         map[string]chart.Registry
	registriesUnknown  bool
	keys               sops.Keys
}

// fleet is what one configured provider works with. Clients are made when they
// are first needed.
type fleet struct {
	settings
	sandbox     *sandbox.Client
	charts      *render.Charts
	recordCache helm.RecordCache
	kubeconfigs kube.Kubeconfigs
	fetcher     *chart.Fetcher
	public      *chart.Fetcher // Without credentials.
	git         *git.Client
	source      *source.Store
	engine      *deploy.Engine
	// masker hides the credentials of the provider.
	masker *diff.Masker
	rota   rota

	claims      claims
	successions successions
	uids        sync.Map // name of a cluster -> its UID, as far as it was seen
	glances     sync.Map // name of a cluster -> *glance
	instances   sync.Map // ids of the targets that the state knows, as far as they were seen

	mu sync.Mutex
	// recalled are clusters that clusters holds no longer, by name.
	recalled map[string]*member
}

// member is one entry of clusters: facts, and a connection that is made once.
type member struct {
	name              string
	facts             target.Cluster
	factsUnknown      bool
	connection        kube.Connection
	connectionUnknown bool
	// uid is the identity that the cluster must have, "" for any.
	uid string

	once   sync.Once
	client *clusterClient
	err    error
}

func newFleet(s settings, masker *diff.Masker) (*fleet, error) {
	fetcher, err := chart.NewFetcher(chart.FetchConfig{Registries: s.registries, RegistriesUnknown: s.registriesUnknown})
	if err != nil {
		return nil, err
	}
	public, err := chart.NewFetcher(chart.FetchConfig{Registries: withoutCredentials(s.registries), RegistriesUnknown: s.registriesUnknown})
	if err != nil {
		return nil, err
	}
	keys, err := sops.New(s.keys)
	if err != nil {
		return nil, err
	}
	templates := sandbox.New(s.renderTimeout)
	f := &fleet{settings: s, masker: masker, sandbox: templates, charts: &render.Charts{Sandbox: templates}, fetcher: fetcher, public: public}
	f.git = git.New(git.Config{Credentials: s.credentials, CredentialsUnknown: s.credentialsUnknown, TempDir: s.cacheDir, CacheDir: s.cacheDir})
	f.source = source.New(f.git, fetcher, public).WithKeys(keys)
	f.engine = deploy.New(func(name string) (deploy.Cluster, error) { return f.connect(name) }, s.parallelism, f.logAttempt)
	return f, nil
}

// withoutCredentials keeps what says how to reach registries, and not as whom.
func withoutCredentials(registries map[string]chart.Registry) map[string]chart.Registry {
	public := make(map[string]chart.Registry, len(registries))
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

// unusableConnectionError says that a connection cannot be made from what is given,
// such as a kubeconfig file that is not there.
type unusableConnectionError struct {
	name string
	err  error
}

func (e *unusableConnectionError) Error() string {
	return fmt.Sprintf("reading the connection of cluster %s: %v", e.name, e.err)
}

func (e *unusableConnectionError) Unwrap() error { return e.err }

// connect finds a cluster's client. It reads kubeconfig files and dials nothing.
func (f *fleet) connect(name string) (*clusterClient, error) {
	found := f.member(name)
	if found == nil {
		return nil, &MissingClusterError{Name: name, Known: slices.Sorted(maps.Keys(f.clusters))}
	}
	if found.connectionUnknown {
		return nil, &unknownConnectionError{name: name}
	}
	found.once.Do(func() {
		connection, err := f.kubeconfigs.Client(found.connection, f.masker)
		if err != nil {
			found.err = &unusableConnectionError{name: name, err: f.masker.Error(err)}
			return
		}
		found.client = &clusterClient{name: name, uid: found.uid, kube: connection, helm: helm.New(connection, connection, f.charts, &f.recordCache, f.masker), charts: f.charts, recordCache: &f.recordCache, masker: f.masker}
	})
	return found.client, found.err
}

// expectsNoAnswer says whether it is known why a cluster cannot be asked: it is
// not made yet, or planning reports it as missing.
func (f *fleet) expectsNoAnswer(cluster string) bool {
	found, ok := f.clusters[cluster]
	return !ok || found.connectionUnknown
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
	name        string
	uid         string // that the cluster must have, "" for any
	kube        *kube.Client
	helm        *helm.Client
	charts      *render.Charts
	recordCache *helm.RecordCache
	masker      *diff.Masker

	mu       sync.Mutex
	accounts map[string]*helm.Client // by service account
}

var (
	_ deploy.Cluster = (*clusterClient)(nil)
	_ helm.Objects   = (*kube.Client)(nil)
)

// classified gives an error its type and a text that may go into the state.
func (c *clusterClient) classified(err error) error {
	if err == nil {
		return nil
	}
	return kube.Classify(c.name, diff.WithText(err, shown(c.masker, err.Error())))
}

// show rewords what live objects say of themselves: it goes into the state.
func (c *clusterClient) show(finding *release.Finding) {
	finding.Err = c.classified(finding.Err)
	for i := range finding.NotReady {
		finding.NotReady[i].Reason = shown(c.masker, finding.NotReady[i].Reason)
	}
	for i := range finding.NotOwned {
		finding.NotOwned[i].Holder = diff.Printable(finding.NotOwned[i].Holder)
	}
}

func (c *clusterClient) Look(ctx context.Context) (release.Snapshot, error) {
	var (
		looking  errgroup.Group
		releases map[string]release.Observed
		uid      string
	)
	looking.Go(func() (err error) {
		releases, err = c.helm.Releases(ctx)
		return err
	})
	looking.Go(func() (err error) {
		if uid, err = c.kube.UID(ctx); kube.IsDenied(err) {
			return nil
		}
		return err
	})
	if err := looking.Wait(); err != nil {
		return release.Snapshot{}, c.classified(err)
	}
	if c.uid != "" && uid != c.uid {
		return release.Snapshot{}, &deploy.OtherClusterError{Cluster: c.name, Want: c.uid, Got: uid}
	}
	return release.Snapshot{UID: uid, Confirmed: c.uid != "", Releases: releases}, nil
}

func (c *clusterClient) Release(ctx context.Context, namespace, name string) (*release.Observed, error) {
	observed, err := c.helm.Release(ctx, namespace, name)
	return observed, c.classified(err)
}

func (c *clusterClient) Inspect(ctx context.Context, releases []release.Inspection) ([]release.Finding, error) {
	findings, err := c.helm.Inspect(ctx, releases)
	for i := range findings {
		c.show(&findings[i])
	}
	return findings, c.classified(err)
}

func (c *clusterClient) Await(ctx context.Context, of release.Inspection) (release.Finding, error) {
	finding, err := c.helm.Await(ctx, of)
	c.show(&finding)
	return finding, c.classified(err)
}

// deployed reads what releases are made of, for diagnostics.
func (c *clusterClient) deployed(ctx context.Context, releases []release.Observed) ([]helm.Deployed, error) {
	found, err := c.helm.Deployed(ctx, releases)
	for i := range found {
		found[i].Err = c.classified(found[i].Err)
	}
	return found, c.classified(err)
}

func (c *clusterClient) Versions(ctx context.Context, references []target.Reference) (map[target.Reference]string, error) {
	versions, err := c.helm.Versions(ctx, references)
	return versions, c.classified(err)
}

func (c *clusterClient) Capabilities(ctx context.Context) (target.Capabilities, error) {
	found, err := c.helm.Capabilities(ctx)
	return found, c.classified(err)
}

func (c *clusterClient) Maker(ctx context.Context, observed release.Observed) (release.Maker, error) {
	name, isFleets, err := c.helm.Origin(ctx, observed)
	return release.Maker{Name: printable(name), Fleet: isFleets}, c.classified(err)
}

func (c *clusterClient) Objects(ctx context.Context, releases []release.Observed) ([][]string, error) {
	read, err := c.helm.Deployed(ctx, releases)
	objects := make([][]string, len(releases))
	for i, found := range read {
		for _, document := range found.Documents {
			objects[i] = append(objects[i], printable(document.Key()))
		}
	}
	return objects, c.classified(err)
}

// printable takes out of a text that somebody else wrote what a terminal would act on.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

func (c *clusterClient) Write(ctx context.Context, action release.Action, d target.Deployment, observed *release.Observed, w release.Write) (release.Written, error) {
	acting, err := c.as(w.Mark.Terms.ServiceAccount)
	if err != nil {
		return release.Written{}, err
	}
	written, err := acting.Write(ctx, action, d, observed, w)
	if written.NotReady != nil {
		written.NotReady = diff.WithText(written.NotReady, shown(c.masker, written.NotReady.Error()))
	}
	return written, c.classified(err)
}

func (c *clusterClient) Uninstall(ctx context.Context, observed release.Observed, removal release.Removal) (release.Removed, error) {
	acting, err := c.as(removal.Known.Terms.ServiceAccount)
	if err != nil {
		return release.Removed{}, err
	}
	removed, err := acting.Uninstall(ctx, observed, removal)
	return removed, c.classified(err)
}

// agentNamespace is where the service accounts live that bundles name: Fleet's
// agents look for them beside themselves (Fleet: internal/helmdeployer/impersonate.go).
const agentNamespace = "cattle-fleet-system"

// as acts as a service account of the cluster, "" for the connection's identity.
func (c *clusterClient) as(serviceAccount string) (*helm.Client, error) {
	if serviceAccount == "" {
		return c.helm, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.accounts[serviceAccount]; ok {
		return known, nil
	}
	acting, err := c.kube.As(agentNamespace, serviceAccount)
	if err != nil {
		return nil, fmt.Errorf("acting as service account %s on cluster %s: %w", serviceAccount, c.name, err)
	}
	if c.accounts == nil {
		c.accounts = map[string]*helm.Client{}
	}
	c.accounts[serviceAccount] = helm.New(acting, acting, c.charts, c.recordCache, c.masker)
	return c.accounts[serviceAccount], nil
}
