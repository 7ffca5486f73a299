package fleet

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestForceSync(t *testing.T) {
	t.Parallel()
	const applied = `{"metadata": {"labels": {"agentless-fleet.github.io/digest": "v1-before"}}, "spec": {"deploymentID": "1", "stagedDeploymentID": "1"}, "status": {"appliedDeploymentID": "1"}}`
	const unapplied = `{"metadata": {"labels": {"agentless-fleet.github.io/digest": "v1-before"}}, "spec": {"deploymentID": "2", "stagedDeploymentID": "2"}, "status": {"appliedDeploymentID": "1"}}`
	const behind = `{"metadata": {"labels": {"agentless-fleet.github.io/digest": "v1-older"}}, "spec": {"deploymentID": "1", "stagedDeploymentID": "1"}, "status": {"appliedDeploymentID": "1"}}`
	const forced = float64(forcedFrom + 8)
	tests := map[string]struct {
		deployment string // "" for none
		recorded   string // the generation of the Bundle in its annotation
		before     map[string]any
		digest     string // of the entry before; the wanted entry has "b"
		want       any
	}{
		"the change before is applied":          {deployment: applied, digest: "a", want: 3.0},
		"applied, and forced before":            {deployment: applied, digest: "a", before: map[string]any{optionForceSync: 9.0}, want: 3.0},
		"the agent has the change before":       {deployment: unapplied, digest: "a", want: forced},
		"the controller has the change before":  {deployment: behind, digest: "a", want: forced},
		"nothing is known":                      {digest: "a", want: forced},
		"no change":                             {deployment: unapplied, digest: "b", before: map[string]any{optionForceSync: 3.0}, want: 3.0},
		"no change, and forced before":          {deployment: unapplied, digest: "b", before: map[string]any{optionForceSync: 9.0}, want: 9.0},
		"another client has changed the Bundle": {deployment: applied, digest: "b", recorded: "6", want: forced},
		"it was changed by another, then by us": {deployment: unapplied, digest: "a", recorded: "6", want: forced},
		"the deployment is new on the cluster":  {deployment: applied, want: 3.0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := deploymentID{bundle: "web-1", cluster: "c1"}
			seen := &tracker{deployments: map[deploymentID]*bundleDeployment{}, changed: map[deploymentID]chan struct{}{}}
			if test.deployment != "" {
				bd, err := decodeDeployment([]byte(test.deployment))
				if err != nil {
					t.Fatal(err)
				}
				seen.deployments[id] = &bd
			}
			before := &stored{metadata: metadata{
				Generation: 7, Labels: map[string]string{labelDigest: "v1-before"}, Annotations: map[string]string{annotationGeneration: firstText(test.recorded, "7")},
			}}
			if test.digest != "" {
				before.content.entries = map[string]entry{id.cluster: {options: test.before, digest: test.digest}}
			}
			wanted := entry{options: map[string]any{optionForceSync: 3.0}, digest: "b"}
			got := (&applyRun{tracker: seen}).forceSync(id.bundle, id.cluster, before, wanted)
			if diff := cmp.Diff(test.want, got.options[optionForceSync]); diff != "" {
				t.Errorf("number (-want +got):\n%s", diff)
			}
			if wanted.options[optionForceSync] != 3.0 {
				t.Error("the options of the caller were changed")
			}
		})
	}
}
