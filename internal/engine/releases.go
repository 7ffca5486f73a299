package engine

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
)

// deployedRelease is a BundleDeployment, without its status.
type deployedRelease struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Options struct {
			DefaultNamespace string `json:"defaultNamespace"`
			Namespace        string `json:"namespace"`
			Helm             struct {
				ReleaseName string `json:"releaseName"`
			} `json:"helm"`
		} `json:"options"`
	} `json:"spec"`

	// unreadable is the reason why only Metadata is known, nil if all is known.
	unreadable error
}

// release returns the release that an agent makes (Fleet: internal/helmdeployer/deployer.go, getOpts).
func (d deployedRelease) release() (name, namespace string) {
	of := d.Spec.Options
	return cmp.Or(of.Helm.ReleaseName, bundle.ReleaseName(d.Metadata.Name)), cmp.Or(of.Namespace, of.DefaultNamespace, "default")
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
