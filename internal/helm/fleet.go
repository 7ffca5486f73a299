package helm

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm/storage"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/wellknown"
)

// Origin returns who created a release whose record has no mark of this provider: Fleet's
// agent, with its name for the deployment, or Helm. fleet is true for Fleet's agent.
func (c *Client) Origin(ctx context.Context, observed release.Observed) (origin string, fleet bool, err error) {
	op, err := c.begin(ctx, observed.Namespace, settings{}, storage.Options{})
	if err != nil {
		return "", false, err
	}
	record, err := op.config.Releases.Get(observed.Release, observed.Revision)
	if err != nil {
		return "", false, fmt.Errorf("reading revision %d of release %s: %w", observed.Revision, observed.Release, err)
	}
	if record.Chart != nil && record.Chart.Metadata != nil {
		if id := record.Chart.Metadata.Annotations[wellknown.BundleID]; id != "" {
			return fmt.Sprintf("Fleet's agent (%s)", id), true, nil
		}
	}
	return "Helm", false, nil
}

// FleetAgent returns the agent of Fleet that runs on the cluster, "" if none runs. The agent
// is a Deployment or, in some versions, a StatefulSet.
func (c *Client) FleetAgent(ctx context.Context) (string, error) {
	apps := c.connection.Typed().AppsV1()
	const name = "fleet-agent"
	for _, namespace := range []string{"cattle-fleet-system", "cattle-fleet-local-system"} {
		deployment, err := apps.Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && (deployment.Spec.Replicas == nil || *deployment.Spec.Replicas > 0) {
			return "Deployment " + namespace + "/" + name, nil
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return "", fmt.Errorf("looking for Fleet's agent: %w", err)
		}
		set, err := apps.StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && (set.Spec.Replicas == nil || *set.Spec.Replicas > 0) {
			return "StatefulSet " + namespace + "/" + name, nil
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return "", fmt.Errorf("looking for Fleet's agent: %w", err)
		}
	}
	return "", nil
}
