package provider

import (
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

type targetModel struct {
	Name               types.String   `tfsdk:"name"`
	Bundles            types.List     `tfsdk:"bundles"`
	Targets            types.List     `tfsdk:"targets"`
	Wait               types.Bool     `tfsdk:"wait"`
	DeploymentTimeout  types.String   `tfsdk:"deployment_timeout"`
	MaxHistory         types.Int64    `tfsdk:"max_history"`
	TakeOwnership      types.Bool     `tfsdk:"take_ownership"`
	AdoptionKey        types.String   `tfsdk:"adoption_key"`
	AllowEmpty         types.Bool     `tfsdk:"allow_empty"`
	MaxRemovals        types.String   `tfsdk:"max_removals"`
	DeletionProtection types.Bool     `tfsdk:"deletion_protection"`
	PlanObjects        types.Bool     `tfsdk:"plan_objects"`
	Drift              types.String   `tfsdk:"drift"`
	Diff               types.String   `tfsdk:"diff"`
	ValuesWriteOnly    types.Dynamic  `tfsdk:"values_wo"` // Null: the configuration alone has it.
	ValuesVersions     types.Map      `tfsdk:"values_wo_version"`
	FilesWriteOnly     types.Dynamic  `tfsdk:"files_wo"` // Null: the configuration alone has it.
	FilesVersions      types.Map      `tfsdk:"files_wo_version"`
	ID                 types.String   `tfsdk:"id"`
	Deployments        types.Map      `tfsdk:"deployments"`
	Objects            types.Map      `tfsdk:"objects"`
	Records            types.Map      `tfsdk:"records"`
	Summary            types.String   `tfsdk:"summary"`
	Stages             types.String   `tfsdk:"stages"`
	ReadyClusters      types.String   `tfsdk:"ready_clusters"`
	Ready              types.Int64    `tfsdk:"ready"`
	Failed             types.Int64    `tfsdk:"failed"`
	ResourceCounts     types.Object   `tfsdk:"resource_counts"`
	ClusterCounts      types.Map      `tfsdk:"cluster_resource_counts"`
	Timeouts           timeouts.Value `tfsdk:"timeouts"`

	// looks is what private state adds to the deployments.
	looks looks
	// lost are releases that were not on their clusters when those were last looked at.
	lost map[deploy.Key]release.Known
}

func deploymentTypes() map[string]attr.Type {
	return map[string]attr.Type{
		"release": types.StringType, "namespace": types.StringType, "chart": types.StringType, "version": types.StringType,
		"digest": types.StringType, "state": types.StringType, "message": types.StringType,
	}
}

func deploymentType() types.ObjectType { return types.ObjectType{AttrTypes: deploymentTypes()} }

func objectsType() types.MapType { return types.MapType{ElemType: types.StringType} }

func (m *targetModel) holder(f *fleet) deploy.Holder {
	return deploy.Holder{
		Owner: f.owner, Target: m.Name.ValueString(), Instance: m.ID.ValueString(),
		AdoptionKey: release.AdoptionKey(f.owner, m.AdoptionKey.ValueString()),
	}
}

// settings leaves Terraform.
func (m *targetModel) settings(diags *diag.Diagnostics) deploy.Settings {
	timeout, err := time.ParseDuration(m.DeploymentTimeout.ValueString())
	if err != nil {
		diags.AddAttributeError(path.Root("deployment_timeout"), "Invalid duration", sentence(err))
	}
	return deploy.Settings{
		Wait:          m.Wait.ValueBool(),
		Timeout:       timeout,
		MaxHistory:    int(m.MaxHistory.ValueInt64()),
		TakeOwnership: m.TakeOwnership.ValueBool(),
		Drift:         m.drift(),
		Description:   describer(m.Name.ValueString(), m.Bundles),
	}
}

// drift is live for a state that was written before the attribute was there.
func (m *targetModel) drift() deploy.Drift {
	if m.Drift.ValueString() == "" {
		return deploy.DriftLive
	}
	return deploy.Drift(m.Drift.ValueString())
}

// records leaves Terraform: what the state knows of each deployment.
func (m *targetModel) records() map[deploy.Key]deploy.Record {
	records := map[deploy.Key]deploy.Record{}
	objects := m.objects()
	current, left := m.knownReleases()
	for name, value := range m.Deployments.Elements() {
		object, ok := value.(types.Object)
		if !ok {
			continue
		}
		text := func(attribute string) string {
			found, ok := object.Attributes()[attribute].(types.String)
			if !ok {
				return ""
			}
			return found.ValueString()
		}
		cluster, bundle, _ := strings.Cut(name, "/")
		key := deploy.Key{Cluster: cluster, Bundle: bundle}
		records[key] = m.looks.on(name, deploy.Record{
			Release: text("release"), Namespace: text("namespace"), Chart: text("chart"), Version: text("version"),
			Digest: text("digest"), State: status.State(text("state")), Message: text("message"),
			Objects: objects[name], Known: current[key], Left: left[key],
		})
	}
	return records
}

// objects reads the known parts of the attribute of that name.
func (m *targetModel) objects() map[string]map[string]string {
	found := map[string]map[string]string{}
	for name, value := range m.Objects.Elements() {
		hashes, ok := value.(types.Map)
		if !ok || hashes.IsUnknown() || hashes.IsNull() {
			continue
		}
		found[name] = map[string]string{}
		for object, hash := range hashes.Elements() {
			if text, ok := hash.(types.String); ok {
				found[name][object] = text.ValueString()
			}
		}
	}
	return found
}

// plannedObjects are the objects that the plan showed as known.
func (m *targetModel) plannedObjects() map[deploy.Key]map[string]string {
	planned := map[deploy.Key]map[string]string{}
	for name, hashes := range m.objects() {
		cluster, bundle, _ := strings.Cut(name, "/")
		planned[deploy.Key{Cluster: cluster, Bundle: bundle}] = hashes
	}
	return planned
}

// setRecords enters Terraform: what is true becomes the computed attributes.
func (m *targetModel) setRecords(records map[deploy.Key]deploy.Record) {
	deployments := make(map[string]attr.Value, len(records))
	objects := make(map[string]attr.Value, len(records))
	known := make(map[string]attr.Value, len(records))
	for key, record := range records {
		deployments[key.String()] = deploymentValue(record, types.StringValue(string(record.State)), types.StringValue(record.Message))
		objects[key.String()] = hashesValue(record.Objects)
		addKnown(known, key, record)
	}
	m.Deployments = types.MapValueMust(deploymentType(), deployments)
	for key, gone := range m.lost {
		if _, there := records[key]; !there {
			known[key.String()] = knownValue(gone)
		}
	}
	m.Records = types.MapValueMust(types.StringType, known)
	m.Objects = types.MapNull(objectsType())
	if m.PlanObjects.ValueBool() {
		m.Objects = types.MapValueMust(objectsType(), objects)
	}
	m.setCounts(records)
}

func deploymentValue(record deploy.Record, state, message types.String) types.Object {
	return types.ObjectValueMust(deploymentTypes(), map[string]attr.Value{
		"release":   types.StringValue(record.Release),
		"namespace": types.StringValue(record.Namespace),
		"chart":     types.StringValue(record.Chart),
		"version":   types.StringValue(record.Version),
		"digest":    types.StringValue(record.Digest),
		"state":     state,
		"message":   message,
	})
}

// plannedValue is what a plan knows of a deployment that will be written.
func plannedValue(d target.Deployment, rendering release.Rendering) types.Object {
	digest := types.StringValue(d.Digest)
	if d.Unpinned {
		digest = types.StringUnknown()
	}
	return types.ObjectValueMust(deploymentTypes(), map[string]attr.Value{
		"release":   types.StringValue(d.Release),
		"namespace": types.StringValue(d.Namespace),
		"chart":     types.StringValue(rendering.Chart),
		"version":   types.StringValue(rendering.Version),
		"digest":    digest,
		"state":     types.StringUnknown(),
		"message":   types.StringUnknown(),
	})
}

func hashesValue(hashes map[string]string) types.Map {
	values := make(map[string]attr.Value, len(hashes))
	for object, hash := range hashes {
		values[object] = types.StringValue(hash)
	}
	return types.MapValueMust(types.StringType, values)
}
