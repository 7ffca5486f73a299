package target_test

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// The default and a bundle without definitions keep their digests, which states contain.
func TestCRDs(t *testing.T) {
	t.Parallel()
	deployment := func(t *testing.T, file, own, custom, other, namespace string) target.Deployment {
		t.Helper()
		def := fleetyaml.Definition{Options: fleetyaml.Options{Namespace: namespace}}
		if own != "" {
			def.Helm = &fleetyaml.Helm{CRDs: own}
		}
		if custom != "" {
			def.TargetCustomizations = []fleetyaml.Customization{{
				Criteria: fleetyaml.Criteria{ClusterSelector: &fleetyaml.Selector{}}, Options: fleetyaml.Options{Helm: &fleetyaml.Helm{CRDs: custom}},
			}}
		}
		b := &bundle.Bundle{Name: "app", Content: "c", Definition: def, Files: []bundle.File{{Name: file}}}
		got, err := target.Deployments(t.Context(), target.Input{
			Bundles: []*bundle.Bundle{b}, Clusters: []target.Cluster{target.NewCluster("a")}, CRDs: other,
			Rules: []target.Rule{{ClusterSelector: &fleetyaml.Selector{}}},
		})
		if err != nil || len(got.Deployments) != 1 {
			t.Fatalf("Deployments() = %+v, %v", got, err)
		}
		return got.Deployments[0]
	}
	plain := deployment(t, "crds/a.yaml", "", "", "", "")
	tests := map[string]struct {
		file, own, custom, other string
		namespace                string
		want                     string
	}{
		"default":                     {file: "crds/a.yaml"},
		"default of the target":       {file: "crds/a.yaml", other: fleetyaml.CRDsCreate},
		"of the target":               {file: "crds/a.yaml", other: fleetyaml.CRDsSkip, want: fleetyaml.CRDsSkip},
		"of the target, below":        {file: "charts/x/crds/a.yaml", other: fleetyaml.CRDsSkip, want: fleetyaml.CRDsSkip},
		"of the target, packed":       {file: "charts/x.tgz", other: fleetyaml.CRDsSkip, want: fleetyaml.CRDsSkip},
		"of the bundle":               {file: "crds/a.yaml", own: fleetyaml.CRDsCreateReplace, other: fleetyaml.CRDsSkip, want: fleetyaml.CRDsCreateReplace},
		"the default, of the bundle":  {file: "crds/a.yaml", own: fleetyaml.CRDsCreate, other: fleetyaml.CRDsSkip},
		"of a cluster":                {file: "crds/a.yaml", own: fleetyaml.CRDsSkip, custom: fleetyaml.CRDsCreateReplace, want: fleetyaml.CRDsCreateReplace},
		"the default, of a cluster":   {file: "crds/a.yaml", own: fleetyaml.CRDsSkip, custom: fleetyaml.CRDsCreate},
		"restricted to a namespace":   {file: "crds/a.yaml", other: fleetyaml.CRDsCreateReplace, namespace: "ns"},
		"restricted, of the bundle":   {file: "crds/a.yaml", own: fleetyaml.CRDsCreateReplace, namespace: "ns", want: fleetyaml.CRDsCreateReplace},
		"restricted, none":            {file: "crds/a.yaml", other: fleetyaml.CRDsSkip, namespace: "ns", want: fleetyaml.CRDsSkip},
		"a bundle without definition": {file: "a.yaml", other: fleetyaml.CRDsCreateReplace},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := deployment(t, test.file, test.own, test.custom, test.other, test.namespace)
			if got.HelmOptions().CRDs != test.want {
				t.Errorf("helm.crds = %q, want %q", got.HelmOptions().CRDs, test.want)
			}
			if isPlain := got.Digest == plain.Digest; test.own == "" && test.custom == "" && test.namespace == "" && isPlain != (test.want == "") {
				t.Errorf("digest %s, and %s without helm.crds", got.Digest, plain.Digest)
			}
		})
	}
}
