package deploy_test

import (
	"errors"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func key(cluster, name string) deploy.Key { return deploy.Key{Cluster: cluster, Bundle: name} }

func deployment(cluster, name, digest string) target.Deployment {
	return target.Deployment{
		Cluster: cluster, Release: name, Namespace: "ns", Digest: digest, Bundle: &bundle.Bundle{Name: name},
	}
}

// errUnreachable is the error of a cluster that does not respond.
var errUnreachable = &status.UnreachableError{Cluster: "b", Err: errors.New("connection refused")}
