package plan_test

import (
	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func key(cluster, name string) deploy.Key { return deploy.Key{Cluster: cluster, Bundle: name} }

func deployment(cluster, name, digest string) target.Deployment {
	return target.Deployment{
		Cluster: cluster, Release: name, Namespace: "ns", Digest: digest, Bundle: &bundle.Bundle{Name: name},
	}
}

// after returns a deployment whose bundle depends on others.
func after(d target.Deployment, bundles ...string) target.Deployment {
	made := *d.Bundle
	for _, name := range bundles {
		made.Definition.DependsOn = append(made.Definition.DependsOn, fleetyaml.Dependency{Name: name})
	}
	d.Bundle = &made
	return d
}
