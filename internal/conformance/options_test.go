package conformance_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/rollout"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// recordedDeployments is layer C of one bundle.
type recordedDeployments struct {
	Deployments map[string]struct {
		Options map[string]any `json:"options"`
	} `json:"deployments"`
	Errors map[string]string `json:"errors"`
	// Unstaged clusters match but are in no partition of the rollout.
	Unstaged []string `json:"unstaged"`
}

func (c *corpus) deployments(t *testing.T, r recording, b *bundle.Bundle) target.Result {
	t.Helper()
	result, err := target.Deployments(t.Context(), target.Input{
		Bundles: []*bundle.Bundle{b}, Rules: r.rules(), Clusters: c.clusters, Groups: c.groups, Evaluator: templates.InProcess{},
	})
	if err != nil {
		t.Fatalf("bundle %s: %v", b.Name, err)
	}
	return result
}

// heldClusters returns the clusters on which a deployment never begins, although it is not paused.
func heldClusters(deployments []target.Deployment) []string {
	steps := make([]rollout.Step, len(deployments))
	for i, d := range deployments {
		steps[i] = rollout.Step{Deployment: d, Change: true}
	}
	var held []string
	forecast := rollout.Simulate(rollout.NewOrder(steps))
	for i, d := range deployments {
		if forecast.Held[i] != nil && !d.Paused && len(d.Bundle.Definition.DependsOn) == 0 {
			held = append(held, d.Cluster)
		}
	}
	slices.Sort(held)
	return held
}

// judgeOptions compares which clusters get the bundle, and with which options.
func (c *corpus) judgeOptions(t *testing.T, r recording, want recordedBundle, b *bundle.Bundle) (verdict, string) {
	t.Helper()

	result := c.deployments(t, r, b)
	if r.Ours.Error == "non-hermetic-error" {
		return judgeNonHermetic(result)
	}
	if r.Outcome != "ok" {
		return deviates, ""
	}
	got := make(map[string]any)
	for _, d := range result.Deployments {
		got[d.Cluster] = normalOptions(asJSON(t, d.Options))
	}
	failed := make(map[string]bool)
	for _, f := range result.Failures {
		failed[f.Cluster] = true
	}

	var recorded recordedDeployments
	c.expected(t, r.ID, want, "deployments.yaml", &recorded)
	held := heldClusters(result.Deployments)
	if diff := cmp.Diff(recorded.Unstaged, held, cmpopts.EquateEmpty()); diff != "" {
		return wrong, "clusters that never get the bundle (-Fleet +ours):\n" + diff
	}
	for _, cluster := range held {
		delete(got, cluster)
	}
	wantOptions, wantFailed := make(map[string]any), make(map[string]bool)
	for cluster := range recorded.Errors {
		wantFailed[cluster] = true
	}
	for cluster, d := range recorded.Deployments {
		switch {
		case slices.Contains(r.Ours.NotTargeted[b.Name], cluster):
		case want.Clusters[cluster] == "release-name-error":
			wantFailed[cluster] = true
		default:
			patch := r.Ours.Patch[b.Name][cluster]
			wantOptions[cluster] = normalOptions(patched(t, d.Options, patch))
			if patch != nil && cmp.Equal(wantOptions[cluster], normalOptions(d.Options)) {
				return wrong, "on " + cluster + " Fleet has the options that should be ours alone"
			}
		}
	}
	if diff := cmp.Diff(wantFailed, failed); diff != "" {
		return wrong, fmt.Sprintf("failures (-Fleet +ours):\n%s\n%v", diff, result.Failures)
	}
	for _, path := range r.Ours.Unspecified {
		for _, options := range []map[string]any{wantOptions, got} {
			for _, of := range options {
				drop(of, strings.Split(path, ".")[1:])
			}
		}
	}
	forced := false
	for _, of := range wantOptions {
		options, _ := of.(map[string]any)
		if account := r.GitRepo.ServiceAccount; account != "" && options["serviceAccount"] != account {
			options["serviceAccount"], forced = account, true // See forceAccount.
		}
	}
	if diff := cmp.Diff(wantOptions, got); diff != "" {
		return wrong, "options (-Fleet +ours):\n" + diff
	}
	if forced || r.Deviation && (r.Ours.Patch[b.Name] != nil || r.Ours.NotTargeted[b.Name] != nil || want.Outcome != "ok") {
		return deviates, ""
	}
	return equal, ""
}

func normalOptions(options map[string]any) map[string]any {
	kept, ok := normal(options).(map[string]any)
	if !ok {
		return map[string]any{}
	}
	return kept
}

func judgeNonHermetic(result target.Result) (verdict, string) {
	for _, f := range result.Failures {
		if class := classOf(f.Err); class != "non-hermetic-error" {
			return wrong, f.Err.Error()
		}
	}
	if len(result.Failures) == 0 {
		return wrong, "a template that changes with each run was accepted"
	}
	return deviates, ""
}

func patched(t *testing.T, options map[string]any, patch json.RawMessage) map[string]any {
	t.Helper()

	if patch == nil {
		return options
	}
	document, err := json.Marshal(map[string]any{"options": options})
	if err != nil {
		t.Fatal(err)
	}
	document, err = jsonpatch.MergePatch(document, patch)
	if err != nil {
		t.Fatal(err)
	}
	var after struct {
		Options map[string]any `json:"options"`
	}
	if err := json.Unmarshal(document, &after); err != nil {
		t.Fatal(err)
	}
	return after.Options
}
