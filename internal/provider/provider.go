// Package provider has the resources, data sources and functions: schemas, models, and the code
// that connects them with all other packages.
package provider

import (
	"context"
	"errors"
	"io"
	"log"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"k8s.io/klog/v2"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/config"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/diagnostics"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/progress"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/protocol"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/report"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/sops"
)

// typeName is the prefix of the name of every resource.
const typeName = "fleet"

var _ provider.ProviderWithFunctions = (*fleetProvider)(nil)

type fleetProvider struct {
	version string
	cleanup *Cleanup
	// masker hides the credentials of the provider.
	masker *mask.Masker
}

// Server returns a function that makes servers of the given version of the provider. A server masks
// every diagnostic before Terraform or a log gets it. The caller runs cleanup at the end; it
// removes what a server leaves behind.
func Server(version string, cleanup *Cleanup) func() tfprotov6.ProviderServer {
	return func() tfprotov6.ProviderServer {
		made := newProvider(version, cleanup)
		return protocol.Masked(made.server(), made.masker)
	}
}

// Unmasked returns a server like those of Server that masks nothing. It is for tests, which look at the
// attributes of diagnostics.
func Unmasked(version string, cleanup *Cleanup) tfprotov6.ProviderServer {
	return newProvider(version, cleanup).server()
}

func (p *fleetProvider) server() tfprotov6.ProviderServer {
	return protocol.WithStringMaps(providerserver.NewProtocol6(p)(), stringMaps())
}

// SilenceClients stops client-go and Helm from writing messages of servers and texts of charts to
// standard error, where they are not masked. It sets the loggers of the process, so main calls it
// first.
func SilenceClients() {
	klog.SetLogger(klog.Logger{})
	log.SetOutput(io.Discard)
}

func newProvider(version string, cleanup *Cleanup) *fleetProvider {
	return &fleetProvider{version: version, cleanup: cleanup, masker: &mask.Masker{}}
}

func (p *fleetProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = typeName
	resp.Version = p.version
}

func (p *fleetProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = config.Schema()
}

func (p *fleetProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var model config.Model
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	configured := p.configured(model.Settings(ctx, &resp.Diagnostics), &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	p.cleanup.add(configured.git.Close)
	p.cleanup.add(configured.fetcher.Close)
	p.cleanup.add(configured.public.Close)
	p.cleanup.add(configured.sandbox.Close)
	p.openProgress(configured, &resp.Diagnostics)
	configured.planReport = openReport(configured.Owner, &resp.Diagnostics)
	resp.ResourceData = configured
	resp.DataSourceData = configured
}

// configured makes the data of the configured provider. The masker hides all credentials, also
// after an error.
func (p *fleetProvider) configured(settings config.Settings, diags *diag.Diagnostics) *providerData {
	settings.AddSecrets(p.masker)
	if diags.HasError() {
		return nil
	}
	configured, err := newProviderData(settings, p.masker)
	if wrong, ok := errors.AsType[*sops.KeyError](err); ok {
		diagnostics.Add(diags, report.InvalidSOPSKey(wrong.Kind+"_keys", wrong.Index, err))
		return nil
	}
	if err != nil {
		diagnostics.Add(diags, report.InvalidSetting("registries", "Invalid registries", err))
	}
	return configured
}

// progressVariable is the environment variable with the name of the file that shows applies.
const progressVariable = "FLEET_PROGRESS"

// openProgress opens the progress file. An apply does not need it, so a failure is a warning.
func (p *fleetProvider) openProgress(configured *providerData, diags *diag.Diagnostics) {
	file := os.Getenv(progressVariable)
	if file == "" {
		return
	}
	reporter, err := progress.Open(file)
	if err != nil {
		diagnostics.Add(diags, report.NoProgress(err))
		return
	}
	configured.progress = reporter
	p.cleanup.add(reporter.Close)
}

func (p *fleetProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{newGitRepoResource, newBundleResource, newTargetResource}
}

func (p *fleetProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		newGitRepoDataSource, newRenderDataSource, newDeploymentsDataSource, newClusterDataSource, newClustersDataSource,
		newImageTagsDataSource, newChartVersionsDataSource,
	}
}

func (p *fleetProvider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{newClustersFromKubeconfigFunction, newMatchFunction, newMergeValuesFunction, newParseFleetYAMLFunction, newReleaseNameFunction}
}
