package render

import (
	"context"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// Sandbox runs the templates of charts and kustomizations where they can do no harm. Its
// methods are safe for concurrent use. Their errors are those of a bundle that cannot be
// rendered, and those of a sandbox that fails.
type Sandbox interface {
	// Plan renders a deployment without a cluster, and reports whether another rendering
	// would give the same.
	Plan(ctx context.Context, d target.Deployment) (release.Rendering, error)
	// Upgrade renders a deployment as a revision of its release with what lookup returns. It
	// is rendered twice to find out whether it comes out alike.
	Upgrade(ctx context.Context, d target.Deployment, revision Revision, lookup Lookup) (release.Rendering, error)
	// Template renders a deployment for a version of Kubernetes, without a cluster. It
	// returns YAML documents: the objects of the release, and its hooks.
	Template(ctx context.Context, d target.Deployment, kubeVersion string) (objects, hooks string, err error)
	// Apply renders a deployment for a revision of its release on a cluster.
	Apply(ctx context.Context, d target.Deployment, revision Revision, lookup Lookup) (Files, error)
}

// Revision is where and as what a deployment is rendered.
type Revision struct {
	Capabilities target.Capabilities
	// Number is that of the revision, and Upgrade false for the first one of a release.
	Number  int
	Upgrade bool
}

// Lookup reads objects of a cluster for the template function of this name: one object, or a
// list of them if name is "". What is not there is an empty map.
type Lookup func(ctx context.Context, apiVersion, kind, namespace, name string) (map[string]any, error)

// Files are what the templates of a deployment gave.
type Files struct {
	// Outputs are those of the templates by their names, NOTES.txt among them. They are nil
	// where the objects are changed before they are applied.
	Outputs map[string]string
	// Objects are YAML documents, in place of Outputs.
	Objects string
	// CRDs are the files below crds/ in their order, for the first revision only unless
	// helm.crds replaces them.
	CRDs [][]byte
	// Metadata and Values are those of the chart as JSON after its dependencies were
	// processed, empty if it has none.
	Metadata, Values []byte
}
