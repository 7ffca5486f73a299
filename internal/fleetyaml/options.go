package fleetyaml

// Kustomize names the folder that contains kustomization.yaml, relative to the
// bundle.
type Kustomize struct {
	Dir string `json:"dir,omitempty"`
}

// YAML contains the options of raw manifests.
type YAML struct {
	// Overlays are names of folders below overlays/, in the order in which they are merged over the
	// manifests.
	Overlays []string `json:"overlays,omitempty"`
}

// Diff selects the differences between wanted and live objects that do not count.
type Diff struct {
	ComparePatches []ComparePatch `json:"comparePatches,omitempty"`
}

// ComparePatch leaves parts of matching objects out of the comparison.
type ComparePatch struct {
	APIVersion   string      `json:"apiVersion,omitempty"`
	Kind         string      `json:"kind,omitempty"`
	Namespace    string      `json:"namespace,omitempty"`
	Name         string      `json:"name,omitempty"`
	Operations   []Operation `json:"operations,omitempty"`
	JSONPointers []string    `json:"jsonPointers,omitempty"`
}

// Operation is one JSON patch operation, or "ignore", which is Fleet's own.
type Operation struct {
	Op    string `json:"op,omitempty"`
	Path  string `json:"path,omitempty"`
	Value string `json:"value,omitempty"`
}

// Ignore names conditions of objects that do not count for readiness. A condition is left out if it
// has all keys and values of one entry.
type Ignore struct {
	Conditions []map[string]string `json:"conditions,omitempty"`
}

// CorrectDrift selects whether changes made on the cluster are reverted.
type CorrectDrift struct {
	// Enabled is nil if it is not set, which is not the same as false.
	Enabled         *bool `json:"enabled,omitempty"`
	Force           bool  `json:"force,omitempty"`
	KeepFailHistory bool  `json:"keepFailHistory,omitempty"`
}

// Off reports whether drift is only reported, not corrected.
func (c *CorrectDrift) Off() bool { return c != nil && c.Enabled != nil && !*c.Enabled }

// ValuesFrom names values in an object on the cluster of the deployment.
type ValuesFrom struct {
	ConfigMapKeyRef *KeyRef `json:"configMapKeyRef,omitempty"`
	SecretKeyRef    *KeyRef `json:"secretKeyRef,omitempty"`
}

// KeyRef is one key of a ConfigMap or Secret.
type KeyRef struct {
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Key       string `json:"key,omitempty"`
}

// DownstreamResource is a Secret or ConfigMap that Fleet copies to clusters.
type DownstreamResource struct {
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
}

// Dependency is a bundle that must be deployed on a cluster first.
type Dependency struct {
	// Name is the name of a bundle.
	Name string `json:"name,omitempty"`
	// Selector is matched against labels of bundles.
	Selector *Selector `json:"selector,omitempty"`
	// AcceptedStates defaults to Ready alone.
	AcceptedStates []string `json:"acceptedStates,omitempty"`
}

// RolloutStrategy limits how many clusters change at once. A nil field has Fleet's default.
type RolloutStrategy struct {
	MaxUnavailable           *Count      `json:"maxUnavailable,omitempty"`
	MaxUnavailablePartitions *Count      `json:"maxUnavailablePartitions,omitempty"`
	AutoPartitionSize        *Count      `json:"autoPartitionSize,omitempty"`
	AutoPartitionThreshold   *int        `json:"autoPartitionThreshold,omitempty"`
	MaxNew                   *int        `json:"maxNew,omitempty"`
	Partitions               []Partition `json:"partitions,omitempty"`
}

// Partition is a set of clusters that change together.
type Partition struct {
	Name           string `json:"name,omitempty"`
	MaxUnavailable *Count `json:"maxUnavailable,omitempty"`
	Criteria
}
