package target_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// The digest covers the defaults of policies.
func TestDefaults(t *testing.T) {
	t.Parallel()

	deploy := func(own fleetyaml.Options, defaults func(string, *bundle.Bundle, fleetyaml.Options) fleetyaml.Options) target.Deployment {
		b := &bundle.Bundle{Name: "web", Definition: fleetyaml.Definition{Options: own}}
		result, err := target.Deployments(t.Context(), target.Input{
			Bundles: []*bundle.Bundle{b}, Clusters: []target.Cluster{target.NewCluster("a")}, Rules: []target.Rule{{ClusterName: "a"}}, Defaults: defaults,
		})
		if err != nil || len(result.Deployments) != 1 {
			t.Fatal(result, err)
		}
		return result.Deployments[0]
	}
	no := false
	account, kept := fleetyaml.Options{ServiceAccount: "default"}, fleetyaml.Options{CreateNamespace: &no}
	unset := deploy(fleetyaml.Options{}, nil)
	for name, options := range map[string]fleetyaml.Options{"account": account, "namespace": kept} {
		with := deploy(fleetyaml.Options{}, func(string, *bundle.Bundle, fleetyaml.Options) fleetyaml.Options { return options })
		if difference := cmp.Diff(options, with.Options); difference != "" || with.Digest == unset.Digest {
			t.Errorf("%s: the digest is %s, and was %s; options:\n%s", name, with.Digest, unset.Digest, difference)
		}
		if written := deploy(options, nil); with.Digest != written.Digest {
			t.Errorf("%s: the digest differs from that of the same options in the bundle", name)
		}
	}
	same := func(_ string, _ *bundle.Bundle, o fleetyaml.Options) fleetyaml.Options { return o }
	if digest := deploy(fleetyaml.Options{}, same).Digest; digest != unset.Digest {
		t.Errorf("no default changes the digest %s to %s", unset.Digest, digest)
	}
}
