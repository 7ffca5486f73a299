package target_test

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// A default service account is for deployments without one, and the digest covers it.
func TestDefaultServiceAccount(t *testing.T) {
	t.Parallel()

	deploy := func(own string, preset func(string, *bundle.Bundle, fleetyaml.Options) string) target.Deployment {
		b := &bundle.Bundle{Name: "web", Definition: fleetyaml.Definition{Options: fleetyaml.Options{ServiceAccount: own}}}
		result, err := target.Deployments(t.Context(), target.Input{
			Bundles: []*bundle.Bundle{b}, Clusters: []target.Cluster{target.NewCluster("a")}, Rules: []target.Rule{{ClusterName: "a"}}, ServiceAccount: preset,
		})
		if err != nil || len(result.Deployments) != 1 {
			t.Fatal(result, err)
		}
		return result.Deployments[0]
	}
	preset := func(string, *bundle.Bundle, fleetyaml.Options) string { return "default" }
	none := func(string, *bundle.Bundle, fleetyaml.Options) string { return "" }
	without, with, own := deploy("", nil), deploy("", preset), deploy("own", preset)
	if with.Options.ServiceAccount != "default" || with.Digest == without.Digest {
		t.Errorf("the account is %q, and the digest %s was %s", with.Options.ServiceAccount, with.Digest, without.Digest)
	}
	if written := deploy("default", nil); with.Digest != written.Digest {
		t.Errorf("the digest differs from that of the same account in the options")
	}
	if own.Options.ServiceAccount != "own" || own.Digest != deploy("own", nil).Digest {
		t.Errorf("an account of its own is replaced by %q", own.Options.ServiceAccount)
	}
	if unset := deploy("", none); unset.Digest != without.Digest {
		t.Errorf("no default changes the digest")
	}
}
