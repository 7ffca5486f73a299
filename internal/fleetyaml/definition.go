// Package fleetyaml reads fleet.yaml files into plain structs. For a file that cannot be read, it
// reports the errors with file, line and column.
package fleetyaml

// The two values of Definition.TargetCustomizationMode; "" is FirstMatch.
const (
	FirstMatch = "FirstMatch"
	AllMatches = "AllMatches"
)

// Definition is one fleet.yaml: the name of a bundle, how it is deployed, and how that differs from
// cluster to cluster. Field names in YAML are Fleet's (pkg/apis/fleet.cattle.io/v1alpha1 of Fleet
// 0.16: FleetYAML, BundleSpec).
type Definition struct {
	Name        string            `json:"name,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`

	Options

	Paused                  bool             `json:"paused,omitempty"`
	DependsOn               []Dependency     `json:"dependsOn,omitempty"`
	RolloutStrategy         *RolloutStrategy `json:"rolloutStrategy,omitempty"`
	Targets                 []Customization  `json:"targets,omitempty"`
	TargetCustomizations    []Customization  `json:"targetCustomizations,omitempty"`
	TargetCustomizationMode string           `json:"targetCustomizationMode,omitempty"`
	// OverrideTargets that are given but empty differ from missing ones: then only the
	// customizations select the clusters of the bundle.
	OverrideTargets []OverrideTarget `json:"overrideTargets,omitzero"`
	ImageScans      []ImageScan      `json:"imageScans,omitempty"`
}

// Options describe how a bundle becomes a Helm release. They are at the root of a fleet.yaml, and
// again in each customization, which is merged onto the root.
type Options struct {
	DefaultNamespace     string            `json:"defaultNamespace,omitempty"`
	Namespace            string            `json:"namespace,omitempty"`
	NamespaceLabels      map[string]string `json:"namespaceLabels,omitempty"`
	NamespaceAnnotations map[string]string `json:"namespaceAnnotations,omitempty"`
	CreateNamespace      *bool             `json:"createNamespace,omitempty"`

	Helm         *Helm         `json:"helm,omitempty"`
	Kustomize    *Kustomize    `json:"kustomize,omitempty"`
	YAML         *YAML         `json:"yaml,omitempty"`
	Diff         *Diff         `json:"diff,omitempty"`
	Ignore       *Ignore       `json:"ignore,omitempty"`
	CorrectDrift *CorrectDrift `json:"correctDrift,omitempty"`

	ServiceAccount      string `json:"serviceAccount,omitempty"`
	ForceSyncGeneration int64  `json:"forceSyncGeneration,omitempty"`
	KeepResources       bool   `json:"keepResources,omitempty"`
	DeleteNamespace     bool   `json:"deleteNamespace,omitempty"`
	DeleteCRDResources  bool   `json:"deleteCRDResources,omitempty"`

	DownstreamResources []DownstreamResource `json:"downstreamResources,omitempty"`
}

// CreatesNamespace reports whether the namespace is created if it does not exist.
func (o Options) CreatesNamespace() bool { return o.CreateNamespace == nil || *o.CreateNamespace }

// Helm contains the options of the Helm release.
type Helm struct {
	Chart                   string            `json:"chart,omitempty"`
	Repo                    string            `json:"repo,omitempty"`
	Version                 string            `json:"version,omitempty"`
	ReleaseName             string            `json:"releaseName,omitempty"`
	Values                  map[string]any    `json:"values,omitempty"`
	ValuesFiles             []string          `json:"valuesFiles,omitempty"`
	ValuesFrom              []ValuesFrom      `json:"valuesFrom,omitempty"`
	TemplateValues          map[string]string `json:"templateValues,omitempty"`
	TimeoutSeconds          int               `json:"timeoutSeconds,omitempty"`
	MaxHistory              int               `json:"maxHistory,omitempty"`
	Force                   bool              `json:"force,omitempty"`
	Atomic                  bool              `json:"atomic,omitempty"`
	TakeOwnership           bool              `json:"takeOwnership,omitempty"`
	WaitForJobs             bool              `json:"waitForJobs,omitempty"`
	DisablePreProcess       bool              `json:"disablePreProcess,omitempty"`
	DisableDNS              bool              `json:"disableDNS,omitempty"`
	SkipSchemaValidation    bool              `json:"skipSchemaValidation,omitempty"`
	DisableDependencyUpdate bool              `json:"disableDependencyUpdate,omitempty"`

	// CRDs selects what happens to the definitions below crds/ of the chart: one of CRDsCreate,
	// CRDsCreateReplace and CRDsSkip. Fleet has no such key, and no fleet.yaml may have it.
	CRDs string `hcl:"only" json:"crds,omitempty"`
}

// The values of Helm.CRDs; "" is CRDsCreate.
const (
	// CRDsCreate leaves the definitions to Helm. Helm creates the missing ones when a release is
	// installed, and none on an upgrade.
	CRDsCreate = "create"
	// CRDsCreateReplace creates and replaces the definitions on an upgrade, too.
	CRDsCreateReplace = "create_replace"
	// CRDsSkip leaves the definitions out.
	CRDsSkip = "skip"
)

// Selector is a Kubernetes label selector. A nil *Selector is a missing one; an empty one matches
// everything.
type Selector struct {
	MatchLabels      map[string]string `json:"matchLabels,omitempty"`
	MatchExpressions []Requirement     `json:"matchExpressions,omitempty"`
}

// Requirement is one row of Selector.MatchExpressions; Operator is In, NotIn,
// Exists or DoesNotExist.
type Requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values,omitempty"`
}

// Criteria select clusters. A cluster must meet all criteria that are given. Criteria without any
// field select no cluster.
type Criteria struct {
	ClusterName          string    `json:"clusterName,omitempty"`
	ClusterSelector      *Selector `json:"clusterSelector,omitempty"`
	ClusterGroup         string    `json:"clusterGroup,omitempty"`
	ClusterGroupSelector *Selector `json:"clusterGroupSelector,omitempty"`
}

// Customization changes the options of a bundle on the clusters that it matches. With DoNotDeploy,
// the bundle is not deployed there.
type Customization struct {
	Name string `json:"name,omitempty"`
	Criteria
	DoNotDeploy bool `json:"doNotDeploy,omitempty"`

	Options
}

// Customizations returns the entries of Targets and TargetCustomizations.
func (d Definition) Customizations() []*Customization {
	var all []*Customization
	for _, list := range [][]Customization{d.Targets, d.TargetCustomizations} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// AllOptions returns the options of the root, and those of each customization, for readers.
func (d Definition) AllOptions() []*Options {
	all := []*Options{&d.Options}
	for _, customization := range d.Customizations() {
		all = append(all, &customization.Options)
	}
	return all
}

// OverrideTarget replaces the GitRepo's targets for one bundle.
type OverrideTarget struct {
	Name string `json:"name,omitempty"`
	Criteria
	DoNotDeploy bool `json:"doNotDeploy,omitempty"`
}
