package target_test

import (
	"testing"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func TestMayReadLabel(t *testing.T) {
	t.Parallel()
	byZone := &fleetyaml.Selector{MatchLabels: map[string]string{"zone": "a"}}
	of := func(definition string) target.Input {
		read, _, err := fleetyaml.Parse("fleet.yaml", []byte(definition), true)
		if err != nil {
			t.Fatal(err)
		}
		return target.Input{Bundles: []*bundle.Bundle{{Definition: read}}}
	}
	tests := map[string]struct {
		in   target.Input
		want bool
	}{
		"nothing":                        {want: false},
		"a rule":                         {in: target.Input{Rules: []target.Rule{{ClusterSelector: byZone}}}, want: true},
		"a rule of another label":        {in: target.Input{Rules: []target.Rule{{ClusterSelector: &fleetyaml.Selector{MatchLabels: map[string]string{"env": "zone-a"}}}}}},
		"a group":                        {in: target.Input{Groups: []target.Group{{Name: "g", Selector: *byZone}}}, want: true},
		"a customization":                {in: of("targetCustomizations: [{clusterSelector: {matchExpressions: [{key: zone, operator: Exists}]}}]\n"), want: true},
		"a customization of another":     {in: of("targetCustomizations: [{clusterSelector: {matchLabels: {env: prod}}}]\n")},
		"a template":                     {in: of("helm: {values: {host: \"${ .ClusterName }\"}}\n"), want: true},
		"a reference to a label":         {in: of("helm: {values: {zone: global.fleet.clusterLabels.zone}}\n"), want: true},
		"a partition":                    {in: of("rolloutStrategy: {partitions: [{name: one, clusterSelector: {matchLabels: {zone: a}}}]}\n"), want: true},
		"a bundle with decrypted values": {in: target.Input{Bundles: []*bundle.Bundle{{Decrypted: secret.Hide(&bundle.Decrypted{})}}}, want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.in.MayReadLabel("zone"); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
