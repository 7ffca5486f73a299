package acceptance_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// runs is a fleet_bundle with one Deployment, whose containers have no readiness probe.
func (s *fixture) runs(args, options string) string {
	return with(s.bundleOf("web", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n"+
		"  template:\n    metadata: {labels: {app: web}}\n    spec: {terminationGracePeriodSeconds: 1, containers: [{name: web, image: \""+testenv.TestImage+"\", args: ["+args+"]}]}\n"), options)
}

// A container that ends soon after its start fails the first stage of a rollout. The pods of all other
// clusters stay.
func TestCrashLoopStopsARollout(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.SharedNodes(t)), newWorkspace(t)
	const strategy = `rollout_strategy = { max_unavailable = "1", partitions = [{ name = "canary", cluster_name = "c" }, { name = "rest", all = true }] }`
	configure := func(args, extra string) {
		w.configure(t, s.provider("", on, on, on), s.runs(args, strategy), target(`deployment_timeout = "90s"`+"\n"+extra, "fleet_bundle.web.bundles"))
	}
	configure(`"-name", good`, "")
	w.apply(t)
	uids := func() (found []string) {
		for i := range 2 {
			pods, err := s.client(t, i).CoreV1().Pods(s.namespace).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, pod := range pods.Items {
				found = append(found, string(pod.UID))
			}
		}
		return found
	}
	before := uids()

	configure(`"-say", "no database", "-exit", "3"`, "explain_logs = true")
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "c/web", "container web has restarted 3 times", "exit code 3 (Error)", "no database")
	if after := uids(); strings.Join(before, " ") != strings.Join(after, " ") {
		t.Errorf("pods of other clusters: %v, before: %v", after, before)
	}

	configure(`"-name", better`, "")
	w.apply(t)
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
}

// With 0s a container counts as ready when it has started, as in Helm.
func TestReadyForNothing(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.SharedNodes(t)), newWorkspace(t)
	w.configure(t, s.provider("", on), s.runs(`"-exit", "0", "-after", "2s"`, ""), target(`ready_for = "0s"`, "fleet_bundle.web.bundles"))
	w.apply(t)
	w.run(t, "destroy", "-auto-approve")
}

// A failed hook is explained by its pod, although its Job is deleted. Its log is there on demand, without
// the secrets that the provider knows.
func TestFailedHook(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.SharedNodes(t)), newWorkspace(t)
	hook := s.bundleOf("web", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate, annotations: {helm.sh/hook: \"pre-install,pre-upgrade\", helm.sh/hook-delete-policy: hook-failed}}\n"+
		"spec:\n  backoffLimit: 0\n  template: {spec: {restartPolicy: Never, containers: [{name: migrate, image: \""+testenv.TestImage+"\", args: [\"-say\", \"no table for open-sesame\", \"-exit\", \"7\"]}]}}\n")
	const logs, secret = "explain_logs = true", `values_wo = { web = { password = "open-sesame" } }` + "\nvalues_wo_version = { web = 1 }"
	w.configure(t, s.provider("", on), hook, target(logs+"\n"+secret, "fleet_bundle.web.bundles"))
	output := w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "Job "+s.namespace+"/migrate", "container migrate: it ended with exit code 7 (Error), and its log ends with: no table for")
	if _, log, _ := strings.Cut(unwrapped(output), "its log ends with:"); strings.Contains(log, "open-sesame") {
		t.Errorf("the error has a secret of a log: %s", log)
	}
	w.configure(t, s.provider("", on), hook, target("", "fleet_bundle.web.bundles"))
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "container migrate: it ended with exit code 7 (Error)")
	w.run(t, "destroy", "-auto-approve")
}
