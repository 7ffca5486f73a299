package render

import (
	"context"

	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Sandbox runs the templates of charts and kustomizations where they can do no harm. Its methods
// are safe for concurrent use. They return an error if a bundle cannot be rendered, or if the
// sandbox fails.
type Sandbox interface {
	// Plan renders a deployment without a cluster, and reports whether another rendering would have
	// the same result.
	Plan(ctx context.Context, d target.Deployment) (release.Rendering, error)
	// Upgrade renders a deployment as a revision of its release with the objects that lookup
	// returns. It renders the deployment twice to find out whether both results are the same.
	Upgrade(ctx context.Context, d target.Deployment, revision Revision, lookup Lookup) (release.Rendering, error)
	// Template renders a deployment for a version of Kubernetes, without a cluster. It
	// returns YAML documents: the objects of the release, and its hooks.
	Template(ctx context.Context, d target.Deployment, kubeVersion string) (objects, hooks string, err error)
	// Apply renders a deployment for a revision of its release on a cluster.
	Apply(ctx context.Context, d target.Deployment, revision Revision, lookup Lookup) (Files, error)
}

// Revision describes the cluster and the revision that a deployment is rendered for.
type Revision struct {
	Capabilities target.Capabilities
	// Number is the number of the revision. Upgrade is false for the first revision of a release.
	Number  int
	Upgrade bool
}

// Lookup reads objects of a cluster for the template function lookup: one object, or a list of them
// if name is "". An object that does not exist is an empty map.
type Lookup func(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error)

// Files are the results of the templates of a deployment.
type Files struct {
	// Outputs are the outputs of the templates by name, including NOTES.txt. They are nil if the
	// objects are changed before they are applied.
	Outputs map[string]string
	// Chart are the files of the chart if the bundle has plain manifests with overlays.
	Chart []*loader.BufferedFile
	// Objects are YAML documents, instead of Outputs.
	Objects string
	// CRDs are the files below crds/ in their order. There are some only for the first revision,
	// unless helm.crds replaces them.
	CRDs [][]byte
	// Metadata and Values are those of the chart as JSON after its dependencies were processed.
	// They are empty if it has no dependencies.
	Metadata, Values []byte
}
