package bundle_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
)

// Only options without an effect are reported.
func TestNotes(t *testing.T) {
	t.Parallel()
	const chart = "-- Chart.yaml --\napiVersion: v2\nname: web\nversion: 1.0.0\n"
	const plain = "-- a.yaml --\n"
	const version = `fleet.yaml: helm.version "1.2" has no effect: the chart is in the bundle, and its Chart.yaml sets the version`
	const values = "fleet.yaml: values in helm have no effect: the bundle has no chart, and no template below templates/ reads them"
	const overlays = "fleet.yaml: yaml.overlays has no effect: it changes plain manifests only, and the bundle is "
	const forced = "fleet.yaml: forceSyncGeneration 3 has no effect: as in Fleet, the value of the GitRepo applies; set force_sync_generation of the fleet_gitrepo"
	on, off := &fleetyaml.CorrectDrift{Enabled: new(true)}, &fleetyaml.CorrectDrift{Enabled: new(false)}
	tests := map[string]struct {
		text, files string
		laid        bundle.Overlay
		want        []string
	}{
		"nothing": {files: plain},

		"version of a chart in the bundle":     {text: "helm: {version: '1.2'}", files: chart, want: []string{version}},
		"version of a chart in a folder":       {text: "helm: {chart: web, version: '1.2'}", files: strings.Replace(chart, "-- ", "-- web/", 1), want: []string{version}},
		"version for a cluster":                {text: "helm: {chart: web}\ntargets: [{helm: {version: '1.2'}}]", files: strings.Replace(chart, "-- ", "-- web/", 1), want: []string{version}},
		"version of a chart elsewhere":         {text: "helm: {chart: web, repo: 'https://charts.example.com', version: '1.2'}", files: plain},
		"version inherited by another cluster": {text: "helm: {chart: web, repo: 'https://charts.example.com', version: '1.2'}\ntargets: [{helm: {releaseName: x}}]", files: plain},

		"overlays of a chart":               {text: "yaml: {overlays: [x]}", files: chart + "-- overlays/x/a.yaml --\n", want: []string{overlays + "a Helm chart"}},
		"overlays of a chart elsewhere":     {text: "yaml: {overlays: [x]}\nhelm: {chart: web, repo: 'https://charts.example.com'}", files: "-- overlays/x/a.yaml --\n", want: []string{overlays + "a Helm chart"}},
		"overlays of a kustomization":       {text: "targets: [{yaml: {overlays: [x]}}]", files: "-- kustomization.yaml --\n-- overlays/x/a.yaml --\n", want: []string{overlays + "a kustomization"}},
		"overlays of manifests":             {text: "yaml: {overlays: [x]}", files: plain + "-- overlays/x/a.yaml --\n"},
		"overlays where one is a chart":     {text: "yaml: {overlays: [x]}\ntargets: [{helm: {chart: web}}]", files: strings.Replace(chart, "-- ", "-- web/", 1) + "-- overlays/x/a.yaml --\n"},
		"overlays of that which is a chart": {text: "targets: [{helm: {chart: web}, yaml: {overlays: [x]}}]", files: strings.Replace(chart, "-- ", "-- web/", 1) + "-- overlays/x/a.yaml --\n", want: []string{overlays + "a Helm chart"}},

		"values of manifests":         {text: "helm: {values: {a: 1}}", files: plain, want: []string{values}},
		"values from the cluster":     {text: "targets: [{helm: {valuesFrom: [{secretKeyRef: {name: x}}]}}]", files: plain, want: []string{values}},
		"values of a kustomization":   {text: "helm: {templateValues: {a: '1'}}", files: "-- kustomization.yaml --\n-- templates/a.yaml --\n", want: []string{values}},
		"values of templates":         {text: "helm: {values: {a: 1}}", files: "-- templates/a.yaml --\n"},
		"values of templates, laid":   {text: "helm: {values: {a: 1}}\nyaml: {overlays: [x]}", files: plain + "-- overlays/x/templates/a.yaml --\n"},
		"values of a chart":           {text: "helm: {values: {a: 1}}", files: chart},
		"values of a chart elsewhere": {text: "helm: {values: {a: 1}, chart: 'oci://example.com/web'}", files: plain},
		"values where one is a chart": {text: "helm: {values: {a: 1}}\ntargets: [{helm: {chart: web}}]", files: strings.Replace(chart, "-- ", "-- web/", 1)},

		"generation of a bundle":              {text: "forceSyncGeneration: 3", files: plain, want: []string{forced}},
		"generation of both":                  {text: "forceSyncGeneration: 3", files: plain, laid: bundle.Overlay{ForceSyncGeneration: 4}, want: []string{forced}},
		"generation of the repository":        {files: plain, laid: bundle.Overlay{ForceSyncGeneration: 4}},
		"generation of a cluster":             {text: "targets: [{forceSyncGeneration: 3}]", files: plain},
		"drift corrected by the repository":   {text: "correctDrift: {enabled: false}", files: plain, laid: bundle.Overlay{CorrectDrift: on}, want: []string{"fleet.yaml: correctDrift.enabled: false has no effect: correct_drift of the fleet_gitrepo corrects the drift of all bundles"}},
		"drift corrected by the bundle":       {text: "correctDrift: {enabled: true}", files: plain, laid: bundle.Overlay{CorrectDrift: off}, want: []string{"fleet.yaml: correct_drift of the fleet_gitrepo has no effect on this bundle, which has correctDrift.enabled: true"}},
		"drift corrected by both":             {text: "correctDrift: {enabled: true}", files: plain, laid: bundle.Overlay{CorrectDrift: on}},
		"drift of the repository":             {files: plain, laid: bundle.Overlay{CorrectDrift: off}},
		"drift replaced without being asked":  {files: plain, laid: bundle.Overlay{CorrectDrift: &fleetyaml.CorrectDrift{Force: true}}, want: []string{"correct_drift has no effect without enabled = true, as in Fleet"}},
		"drift of a bundle, replaced as well": {text: "correctDrift: {force: true}", files: plain, laid: bundle.Overlay{CorrectDrift: off}},

		"annotations":                   {text: "annotations: {a: b}", files: plain, want: []string{"fleet.yaml:1:14: annotations have no effect here: Fleet sets them on its Bundle object, which does not exist here"}},
		"dependencies for one cluster":  {text: "targets: [{helm: {disableDependencyUpdate: true}}]", files: chart, want: []string{"fleet.yaml:1:44: disableDependencyUpdate of a customization has no effect, as in Fleet: dependencies are fetched once for all clusters; set it in helm of the root"}},
		"dependencies for all clusters": {text: "helm: {disableDependencyUpdate: true}", files: chart},
		"partitions of both kinds":      {text: "rolloutStrategy: {autoPartitionSize: 10%, partitions: [{clusterSelector: {}}]}", files: plain, want: []string{"fleet.yaml:1:18: autoPartitionSize and autoPartitionThreshold of the rollout strategy have no effect beside partitions"}},
		"automatic partitions":          {text: "rolloutStrategy: {autoPartitionSize: 10%, autoPartitionThreshold: 3}", files: plain},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := bundle.Reader{}.Read(tree(t, "-- fleet.yaml --\n"+test.text+"\n"+test.files), bundle.ReadOptions{Strict: true, Overlay: test.laid})
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, warning := range got.Warnings {
				lines = append(lines, warning.String())
			}
			if diff := cmp.Diff(test.want, lines); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
