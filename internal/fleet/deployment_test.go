package fleet

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/mask"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/status"
)

func TestFacts(t *testing.T) {
	t.Parallel()
	const applied = `"spec": {"deploymentID": "1", "stagedDeploymentID": "1"}, "status": {"appliedDeploymentID": "1", `
	tests := map[string]struct {
		deployment string // "" for none
		with       sighting
		state      status.State
		text       string
	}{
		"none":                             {state: status.Pending, text: "Fleet has not created its BundleDeployment yet"},
		"none, agent offline":              {with: sighting{agent: agent{offline: true}}, state: status.WaitApplied, text: "the agent has not applied the last change yet; the agent of the cluster was never seen"},
		"Bundle in error":                  {with: sighting{bundleMessage: "targeting error: x"}, state: status.ErrApplied, text: "targeting error: x"},
		"of an earlier Bundle, and ready":  {deployment: `{"metadata": {"labels": {"agentless-fleet.github.io/digest": "v1-old"}}, ` + applied + `"ready": true, "nonModified": true}}`, state: status.WaitApplied, text: "Fleet's controller has not processed the last change of the Bundle yet"},
		"being deleted":                    {deployment: `{"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "labels": {"agentless-fleet.github.io/digest": "v1-new"}}, ` + applied + `"ready": true, "nonModified": true}}`, state: status.Pending, text: "Fleet has not created its BundleDeployment yet"},
		"ready":                            {deployment: `{` + applied + `"ready": true, "nonModified": true}}`, state: status.Ready},
		"without its values":               {deployment: `{` + applied + `"ready": true, "nonModified": true}}`, with: sighting{valuesHash: "x"}, state: status.WaitApplied, text: "Fleet waits for the Secret with the values of its BundleDeployment"},
		"waits for values":                 {deployment: `{"spec": {"deploymentID": "1", "stagedDeploymentID": "1", "waitingForValues": true}, "status": {"ready": true}}`, state: status.WaitApplied, text: "Fleet waits for the Secret with the values of its BundleDeployment"},
		"not applied":                      {deployment: `{"spec": {"deploymentID": "2", "stagedDeploymentID": "2"}, "status": {"appliedDeploymentID": "1", "ready": true, "nonModified": true}}`, state: status.WaitApplied, text: "the agent has not applied the last change yet"},
		"not applied, agent offline":       {deployment: `{"spec": {"deploymentID": "2", "stagedDeploymentID": "2"}, "status": {"appliedDeploymentID": "1"}}`, with: sighting{agent: agent{offline: true, lastSeen: time.Unix(0, 0)}}, state: status.WaitApplied, text: "the agent has not applied the last change yet; the agent of the cluster was last seen at 1970-01-01T00:00:00Z"},
		"render error":                     {deployment: `{"spec": {"deploymentID": "2", "stagedDeploymentID": "2"}, "status": {"appliedDeploymentID": "1", "ready": true, "conditions": [{"type": "Deployed", "status": "False", "message": "YAML parse error"}]}}`, state: status.ErrApplied, text: "YAML parse error"},
		"error of the deployment before":   {deployment: `{"spec": {"deploymentID": "2", "stagedDeploymentID": "2"}, "status": {"appliedDeploymentID": "1", "conditions": [{"type": "Deployed", "status": "False", "message": "YAML parse error"}]}}`, with: sighting{isFormer: true}, state: status.WaitApplied, text: "the agent has not applied the last change yet"},
		"back, and the error stands":       {deployment: `{` + applied + `"ready": true, "nonModified": true, "conditions": [{"type": "Deployed", "status": "False", "message": "YAML parse error"}]}}`, with: sighting{isFormer: true}, state: status.WaitApplied, text: "the agent has not applied the last change yet"},
		"waits for dependencies":           {deployment: `{"spec": {"deploymentID": "2", "stagedDeploymentID": "2"}, "status": {"conditions": [{"type": "Deployed", "status": "False", "message": "dependent bundle(s) are not ready: [db]"}]}}`, state: status.WaitApplied, text: "dependent bundle(s) are not ready: [db]"},
		"waits, since Fleet 0.16.2":        {deployment: `{"spec": {"deploymentID": "2", "stagedDeploymentID": "2"}, "status": {"conditions": [{"type": "Deployed", "status": "False", "reason": "WaitingForDependency", "message": "waiting for dependent bundle(s) to reach an accepted state: db (state: NotReady, accepted: Ready)"}]}}`, state: status.WaitApplied, text: "waiting for dependent bundle(s) to reach an accepted state: db (state: NotReady, accepted: Ready)"},
		"waits for what a later Fleet has": {deployment: `{"spec": {"deploymentID": "2", "stagedDeploymentID": "2"}, "status": {"conditions": [{"type": "Deployed", "status": "False", "reason": "WaitingForQuota"}]}}`, state: status.WaitApplied, text: "WaitingForQuota"},
		"applied, and the install waits":   {deployment: `{` + applied + `"ready": true, "nonModified": true, "conditions": [{"type": "Installed", "status": "False", "reason": "WaitingForHook", "message": "a hook runs"}]}}`, state: status.WaitApplied, text: "a hook runs"},
		"a chart that quotes a wait":       {deployment: `{"spec": {"deploymentID": "2", "stagedDeploymentID": "2"}, "status": {"conditions": [{"type": "Deployed", "status": "False", "reason": "Error", "message": "execution error: dependent bundle(s) are not ready: [db]"}]}}`, state: status.ErrApplied, text: "execution error: dependent bundle(s) are not ready: [db]"},
		"an error without a message":       {deployment: `{"spec": {"deploymentID": "2", "stagedDeploymentID": "2"}, "status": {"conditions": [{"type": "Deployed", "status": "False"}]}}`, state: status.ErrApplied, text: "Fleet gives no reason"},
		"install failed, and applied":      {deployment: `{` + applied + `"conditions": [{"type": "Installed", "status": "False", "message": "exists and cannot be imported"}]}}`, state: status.ErrApplied, text: "exists and cannot be imported"},
		"not ready":                        {deployment: `{` + applied + `"nonReadyStatus": [{"kind": "Deployment", "apiVersion": "apps/v1", "namespace": "a", "name": "b", "summary": {"message": ["0 of 1 available"]}}]}}`, state: status.NotReady, text: "not ready: Deployment a/b is 0 of 1 available"},
		"not ready, nobody says why":       {deployment: `{` + applied + `"conditions": []}}`, state: status.NotReady, text: "not ready"},
		"held by the rollout":              {deployment: `{"spec": {"stagedDeploymentID": "2", "deploymentID": "1"}, "status": {"appliedDeploymentID": "1", "ready": true, "nonModified": true}}`, state: status.OutOfSync, text: "Fleet holds the last change: the limits of the rollout are reached"},
		"held, paused":                     {deployment: `{"spec": {"stagedDeploymentID": "2", "deploymentID": "1", "paused": true}, "status": {"appliedDeploymentID": "1", "ready": true}}`, state: status.OutOfSync, text: "Fleet holds the last change: the cluster or the Bundle is paused"},
		"modified":                         {deployment: `{` + applied + `"ready": true, "modifiedStatus": [{"kind": "Secret", "apiVersion": "v1", "namespace": "a", "name": "b", "patch": "{\"data\":{\"password\":\"aHVudGVyMg==\"}}"}]}}`, state: status.Modified, text: "Secret a/b differs at data.password"},
		"an object is missing":             {deployment: `{` + applied + `"ready": true, "modifiedStatus": [{"kind": "Service", "apiVersion": "v1", "namespace": "a", "name": "b", "missing": true}]}}`, state: status.Modified, text: "Service a/b is missing"},
		"a message with control sequences": {deployment: `{"spec": {"deploymentID": "2", "stagedDeploymentID": "2"}, "status": {"conditions": [{"type": "Deployed", "status": "False", "message": "\u001b[2J hunter2-hunter2"}]}}`, state: status.ErrApplied, text: `\x1b[2J (sensitive value)`},
	}
	masker := &mask.Masker{}
	masker.Add("hunter2-hunter2")
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.with.digest = "v1-new"
			if test.deployment != "" {
				test.with.deployment = &bundleDeployment{}
				if err := json.Unmarshal([]byte(test.deployment), test.with.deployment); err != nil {
					t.Fatal(err)
				}
				if test.with.deployment.Metadata.Labels == nil {
					test.with.deployment.Metadata.Labels = map[string]string{labelDigest: "v1-new"}
				}
			}
			state, text := test.with.facts(texts{masker}).State()
			if state != test.state || text != test.text {
				t.Errorf("got %s %q, want %s %q", state, text, test.state, test.text)
			}
		})
	}
}

// A status that another client writes takes a limited amount of text and of objects.
func TestAttackHugeStatus(t *testing.T) {
	t.Parallel()
	bd := &bundleDeployment{}
	bd.Metadata.Labels = map[string]string{labelDigest: "v1-new"}
	bd.Spec.DeploymentID, bd.Spec.StagedDeploymentID, bd.Status.AppliedDeploymentID = "1", "1", "0"
	bd.Status.Conditions = []condition{{Type: "Deployed", Status: "False", Message: strings.Repeat("long ", 1_000_000)}}
	bd.Status.NonReadyStatus = make([]notReadyObject, 100_000)
	bd.Status.ModifiedStatus = make([]modifiedObject, 100_000)
	bd.Status.ModifiedStatus[0].Patch = strings.Repeat(`{"a":`, 1000) + "1" + strings.Repeat("}", 1000)
	bd.Status.Resources = make([]object, 100_000)
	bd.Status.ResourceCounts.Ready = -5
	bd.trim()
	if kept := len(bd.Status.Conditions[0].Message) + len(bd.Status.Resources); kept > 5*maxText+maxResources {
		t.Errorf("%d bytes and objects are kept", kept)
	}
	_, text := sighting{deployment: bd, digest: "v1-new"}.facts(texts{&mask.Masker{}}).State()
	if len(text) > maxText+100 {
		t.Errorf("the message has %d bytes", len(text))
	}
	finding := bd.finding(texts{&mask.Masker{}})
	if len(finding.NotReady)+len(finding.Missing)+len(finding.Modified) > 2*maxObjects || finding.Ready != 0 {
		t.Errorf("got %d objects that are not ready and %d that differ", len(finding.NotReady), len(finding.Modified))
	}
	if path := finding.Modified[0].Differences[0].Path; strings.Count(path, ".") > maxDepth {
		t.Errorf("a path has %d parts", strings.Count(path, "."))
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	var got []string
	for _, difference := range differences(`{"spec":{"replicas":3,"template":{"a":null}},"data":{"password":"secret"}}`, texts{&mask.Masker{}}) {
		got = append(got, difference.Path)
	}
	if diff := cmp.Diff([]string{"data.password", "spec.replicas", "spec.template.a"}, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

// A refresh has no write-only values, so it cannot mask them in a message of an agent.
func TestRefreshHidesSecrets(t *testing.T) {
	t.Parallel()
	key := deploy.Key{Cluster: "c1", Bundle: "web"}
	bd := &bundleDeployment{}
	bd.Metadata = metadata{Name: "web-1", Namespace: "cluster-c1", Labels: map[string]string{labelDigest: "v1-new"}}
	bd.Spec.DeploymentID, bd.Spec.StagedDeploymentID = "2", "2"
	bd.Status.Conditions = []condition{{Type: "Deployed", Status: "False", Message: "hunter2 is no number"}}
	marks := release.NewMark("owner", "prod", "i", "web", "")
	messageOf := func(prior deploy.Record, annotations map[string]string) string {
		annotations[annotationDeployments], annotations[annotationGeneration] = `{"c1":"v1-0123456789abcdef0123456789abcdef"}`, "0"
		seen := view{
			bundles:     map[string]metadata{"web-1": {Name: "web-1", Labels: labelsOf(nil, marks, "v1-new"), Annotations: annotations}},
			deployments: map[deploymentID]*bundleDeployment{{"web-1", "c1"}: bd},
		}
		prior.Known.Instance = "i"
		found := deploy.Observation{Records: map[deploy.Key]deploy.Record{}, UIDs: map[string]string{}, Findings: map[deploy.Key]release.Finding{}, Missing: map[deploy.Key]release.Known{}}
		(&Engine{texts: texts{&mask.Masker{}}}).observe(t.Context(), nil, seen, deploy.DriftLive, map[deploy.Key]deploy.Record{key: prior}, &found)
		return found.Records[key].Message
	}
	secret := func() map[string]string { return map[string]string{annotationSecrets: "true"} }
	if got := messageOf(deploy.Record{}, map[string]string{}); got != "hunter2 is no number" {
		t.Errorf("without secrets: got %q", got)
	}
	if got := messageOf(deploy.Record{State: status.Ready}, secret()); !strings.Contains(got, "cluster-c1/web-1 has the message") || strings.Contains(got, "hunter2") {
		t.Errorf("with secrets: got %q", got)
	}
	if got := messageOf(deploy.Record{State: status.ErrApplied, Message: "(sensitive value) is no number"}, secret()); got != "(sensitive value) is no number" {
		t.Errorf("after an apply that failed: got %q", got)
	}
}

// An agent leaves the error of a deployment until it has carried out the next change.
func TestHasErrorOf(t *testing.T) {
	t.Parallel()
	failed := func(id, text string) *bundleDeployment {
		bd := &bundleDeployment{}
		bd.Spec.DeploymentID = id
		bd.Status.Conditions = []condition{{Type: "Deployed", Status: "False", Message: text}}
		return bd
	}
	deployed := func(id string) *bundleDeployment {
		bd := &bundleDeployment{}
		bd.Spec.DeploymentID = id
		return bd
	}
	tests := map[string]struct {
		former, now *bundleDeployment
		want        bool
	}{
		"first":                 {now: failed("1", "a")},
		"none yet":              {former: failed("1", "a")},
		"after a success":       {former: deployed("1"), now: failed("2", "a")},
		"success":               {former: failed("1", "a"), now: deployed("2")},
		"another error":         {former: failed("1", "a"), now: failed("2", "b")},
		"the same error":        {former: failed("1", "a"), now: failed("2", "a"), want: true},
		"the same change again": {former: failed("1", "a"), now: failed("1", "a")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.now.hasErrorOf(test.former); got != test.want {
				t.Errorf("hasErrorOf returns %t, want %t", got, test.want)
			}
		})
	}
}
