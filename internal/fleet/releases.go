package fleet

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// deployedRelease is a BundleDeployment, without its status.
type deployedRelease struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		DeploymentID       string         `json:"deploymentID"`
		StagedDeploymentID string         `json:"stagedDeploymentID"`
		Options            releaseOptions `json:"options"`
		// StagedOptions become Options when Fleet's controller lets the agent deploy them.
		StagedOptions releaseOptions `json:"stagedOptions"`
	} `json:"spec"`

	// unreadable is the reason why only Metadata is known, nil if all is known.
	unreadable error
}

// releaseOptions are the options that name a release.
type releaseOptions struct {
	DefaultNamespace string `json:"defaultNamespace"`
	Namespace        string `json:"namespace"`
	Helm             struct {
		ReleaseName string `json:"releaseName"`
	} `json:"helm"`
}

// releases returns the keys of the release that the agent has made and of the one that it is going to
// make (Fleet: internal/helmdeployer/deployer.go, getOpts).
func (d deployedRelease) releases() []string {
	key := func(of releaseOptions) string {
		return release.Key(cmp.Or(of.Namespace, of.DefaultNamespace, "default"), cmp.Or(of.Helm.ReleaseName, bundle.ReleaseName(d.Metadata.Name)))
	}
	switch d.Spec.DeploymentID {
	case "":
		return []string{key(d.Spec.StagedOptions)}
	case d.Spec.StagedDeploymentID:
		return []string{key(d.Spec.Options)}
	}
	return []string{key(d.Spec.Options), key(d.Spec.StagedOptions)}
}

// releases lists the releases of BundleDeployments. Those of a cluster that take too much are unreadable.
func (c *client) releases(ctx context.Context, selector string, see func(deployedRelease)) error {
	list := objectList[deployedRelease]{
		kind: "BundleDeployment", resource: deploymentResource, selector: selector, limit: maxDeployments, bytes: maxDeploymentsSize,
		namespaceBytes: maxClusterSize, namespaceOf: func(d deployedRelease) string { return d.Metadata.Namespace },
		partial: func(object json.RawMessage, cause error) (deployedRelease, error) {
			bd, err := partialDeployment(object, cause)
			return deployedRelease{Metadata: bd.Metadata, unreadable: bd.unreadable}, err
		},
	}
	_, leftOut, err := list.read(ctx, c.requests, see)
	for _, namespace := range leftOut {
		see(deployedRelease{Metadata: metadata{Namespace: namespace}, unreadable: errClusterTooLarge})
	}
	return err
}
