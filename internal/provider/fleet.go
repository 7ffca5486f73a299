package provider

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/chart"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/cluster"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/config"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/plan"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/preview"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy/run"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleet"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/git"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/planreport"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/progress"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/source"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/state"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/client"
)

// providerData is the data of one configured provider. Clients are made when they are first needed.
type providerData struct {
	config.Settings
	sandbox  *client.Client
	charts   *render.Charts
	clusters *cluster.Set
	fetcher  *chart.Fetcher
	public   *chart.Fetcher // Without credentials.
	git      *git.Client
	source   *source.Store
	runner   *run.Runner
	// fleetEngine delivers by a real Fleet. It is nil without an engine, and while the engine is
	// unknown.
	fleetEngine *fleet.Engine
	// masker hides the credentials of the provider.
	masker *mask.Masker
	// progress shows applies to the user. It is nil if no file is set.
	progress *progress.Reporter
	// planReport writes plans to files. It is nil without files.
	planReport *planreport.Writer
	// registry finds targets of this process that want the same release.
	registry *plan.Registry
	// snapshots are the snapshots of clusters that plans of this process have read.
	snapshots *preview.SnapshotCache
}

func newProviderData(s config.Settings, masker *mask.Masker) (*providerData, error) {
	boundary := s.Boundary()
	fetcher, err := chart.NewFetcher(chart.FetchConfig{Registries: s.Registries, RegistriesUnknown: s.RegistriesUnknown, Boundary: boundary, Trust: s.Trust, AddSecret: masker.Add})
	if err != nil {
		return nil, err
	}
	withoutCredentials := make(map[string]chart.Registry, len(s.Registries))
	for prefix, registry := range s.Registries {
		withoutCredentials[prefix] = registry.WithoutCredentials()
	}
	public, err := chart.NewFetcher(chart.FetchConfig{Registries: withoutCredentials, RegistriesUnknown: s.RegistriesUnknown, Boundary: boundary, Trust: s.Trust})
	if err != nil {
		return nil, err
	}
	keys, err := sops.New(s.SOPS)
	if err != nil {
		return nil, err
	}
	templates := client.New(s.RenderTimeout)
	f := &providerData{
		Settings: s, masker: masker, sandbox: templates, charts: &render.Charts{Sandbox: templates}, fetcher: fetcher, public: public,
		registry: &plan.Registry{}, snapshots: &preview.SnapshotCache{},
	}
	f.git = git.New(git.Config{Credentials: s.Git, CredentialsUnknown: s.GitUnknown, Boundary: boundary, Trust: s.Trust, TempDir: s.CacheDir, CacheDir: s.CacheDir})
	f.source = source.New(source.Config{
		Git: f.git, Charts: fetcher, PublicCharts: public, Images: fetcher, PublicImages: public,
		Keys: keys, IgnoreRules: chart.IgnoreRules, Describe: f.charts.DescribeBundle,
	})
	f.clusters = cluster.NewSet(s.Clusters, f.charts, masker)
	f.fleetEngine = newFleetEngine(s.Management, s.Parallelism, f.charts, masker)
	f.runner = run.New(connector(f.clusters), s.Parallelism, f.showEvent)
	return f, nil
}

// connector lets an engine reach the clusters of a set.
func connector(clusters *cluster.Set) run.Clusters {
	return func(name string) (run.Cluster, error) { return clusters.Connect(name) }
}

// previewTimeout is long for a cluster that works. A plan without its response is still right; it
// only warns less.
const previewTimeout = 10 * time.Second

// preview returns a Preview, which reports what plans find on clusters.
func (p *providerData) preview() *preview.Preview {
	return &preview.Preview{
		Connect:     func(name string) (preview.Cluster, error) { return p.clusters.Connect(name) },
		Connectable: p.clusters.IsConnectable, Runner: p.runner, Charts: p.charts, Snapshots: p.snapshots,
		Parallelism: p.Parallelism, Timeout: previewTimeout,
		Owner: p.Owner, OwnerUnknown: p.OwnerUnknown, Former: p.registry.Former,
	}
}

// configOf compares configurations of targets.
type configOf tfsdk.Config

func (c configOf) Equal(other plan.Config) bool {
	of, ok := other.(configOf)
	return ok && c.Raw.Equal(of.Raw)
}

// claim records what a target wants, and reports what another target of the plan wants as well.
func (p *providerData) claim(model *targetModel, prior *targetState, config tfsdk.Config, wanted []target.Deployment, diags *diag.Diagnostics) {
	name := model.Name.ValueString()
	conflicts, sameName := p.registry.Claim(plan.Claim{Target: name, Instance: prior.ID.ValueString(), Config: configOf(config), Wanted: wanted})
	if sameName {
		diagnostics.Add(diags, report.SameName(name))
		return
	}
	diagnostics.Add(diags, report.Conflicts(name, conflicts))
}

// withFormer returns the provider with the clusters in private state whose entries were removed.
// These clusters must still have the identities that the last refresh found.
func (p *providerData) withFormer(private state.Private) *providerData {
	former := map[string]cluster.Entry{}
	for name, stored := range private.Connections {
		if !p.clusters.Configured(name) {
			former[name] = cluster.Entry{Connection: stored, UID: private.ClusterUIDs[name]}
		}
	}
	if p.ClustersUnknown || len(former) == 0 {
		return p
	}
	with := *p
	with.clusters = p.clusters.WithFormer(former)
	with.runner = p.runner.With(connector(with.clusters))
	return &with
}

// capabilities returns a reader of the capabilities that charts use.
func (p *providerData) capabilities() state.CapabilityReader {
	return state.CapabilityReader{
		Clusters: p.clusters.Names(), IsConnectable: p.clusters.IsConnectable, Read: p.runner.Capabilities, DependsOnCluster: p.charts.DependsOnCluster,
	}
}
