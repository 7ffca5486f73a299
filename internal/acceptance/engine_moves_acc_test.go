package acceptance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// directProvider delivers to the clusters of a Fleet without an engine. more is HCL in its block.
func directProvider(fleet *testenv.Fleet, more string) string {
	var clusters strings.Builder
	for _, name := range []string{"c1", "c2", "c3"} {
		fmt.Fprintf(&clusters, "    %s = { config_path = %q, config_context = %[1]q, labels = { name = %[1]q }, template_values = jsonencode({ zone = %[1]q }) }\n", name, fleet.Kubeconfig())
	}
	return "provider \"fleet\" {\n  owner = \"acc\"\n  clusters = {\n" + clusters.String() + "  }\n" + more + "}\n"
}

// movedConfig is engineConfig, with a Deployment in the chart.
func movedConfig(namespace, rule string) string {
	const deployment = `---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 0\n  selector: {matchLabels: {app: web}}\n  template:\n` +
		`    metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: example.com/web}]}\n`
	return strings.Replace(engineConfig(namespace, "1", rule), `once: {{ .Values.once }}}\n"`, `once: {{ .Values.once }}}\n`+deployment+`"`, 1)
}

// expectMoves moves a target from direct delivery to an engine and back, by another provider block.
// The plan names what moves, and no object is created again. An apply that is killed is finished by
// the next one.
func expectMoves(t *testing.T, fleet *testenv.Fleet) {
	t.Helper()
	w := newWorkspace(t)
	const namespace = "acc-engine-moved"
	s := engineStory{fleet: fleet, w: w, namespace: namespace}
	direct, delivered := directProvider(fleet, ""), engineProvider(fleet, "")
	config := movedConfig(namespace, everyCluster)
	w.configure(t, direct, config)
	w.run(t, "apply", "-auto-approve", "-input=false")
	before := identities(t, fleet, namespace)

	w.configure(t, delivered, movedConfig(namespace, `{ cluster_name = "c1" }`))
	w.fail(t, []string{"plan", "-input=false"}, "deployments are not in the engine")

	w.configure(t, delivered, config)
	plan := unwrapped(w.run(t, "plan", "-input=false", "-out=tfplan"))
	for _, part := range []string{"deployments move to the engine: 9", "+0 ~9 -0 =0"} {
		if !strings.Contains(plan, part) {
			t.Errorf("the plan does not show %q:\n%s", part, plan)
		}
	}
	s.killApply(t, "the first Bundle to be written", func(bundles []unstructured.Unstructured) bool { return len(bundles) > 0 }, "tfplan")
	w.apply(t)
	w.expectEmptyPlan(t)
	if diff := cmp.Diff(before, identities(t, fleet, namespace)); diff != "" {
		t.Errorf("objects (-before +after):\n%s", diff)
	}
	w.configure(t, direct, config)
	w.fail(t, []string{"plan", "-input=false"}, "deployments were delivered by an engine")

	both := directProvider(fleet, fmt.Sprintf("  engine = { config_path = %q, config_context = %q, deliver = false }\n", fleet.Kubeconfig(), testenv.FleetManagement))
	w.configure(t, both, movedConfig(namespace, `{ cluster_name = "c1" }`))
	w.fail(t, []string{"plan", "-input=false"}, "deployments of the engine are not wanted any more")
	w.configure(t, both, config)
	plan = unwrapped(w.run(t, "plan", "-input=false", "-out=tfplan"))
	if part := "deployments leave the engine: 9"; !strings.Contains(plan, part) {
		t.Errorf("the plan does not show %q:\n%s", part, plan)
	}
	s.killApply(t, "a Bundle to keep its objects", func(bundles []unstructured.Unstructured) bool {
		return slices.ContainsFunc(bundles, func(of unstructured.Unstructured) bool {
			keeps, _, _ := unstructured.NestedBool(of.Object, "spec", "keepResources")
			return keeps
		})
	}, "tfplan")
	s.killApply(t, "the first Bundle to be deleted", func(bundles []unstructured.Unstructured) bool { return len(bundles) < 3 }, "-auto-approve") // There are three.
	w.apply(t)
	w.expectEmptyPlan(t)
	w.configure(t, direct, config)
	w.expectEmptyPlan(t)
	if diff := cmp.Diff(before, identities(t, fleet, namespace)); diff != "" {
		t.Errorf("objects after the way back (-before +after):\n%s", diff)
	}
	w.run(t, "destroy", "-auto-approve", "-input=false")
	s.wantMaps(t)
}

// expectKilledCreate kills the apply that creates a target, when Fleet has processed a Bundle. No state has
// the target then. It is recovered in each way that the guide names.
func expectKilledCreate(t *testing.T, fleet *testenv.Fleet) {
	t.Helper()
	for _, way := range []struct {
		name, attributes, block string
		command                 []string
		// isSmaller leaves c1 out of the target after the kill. A create cannot take over then.
		isSmaller bool
	}{
		{name: "import block", block: "import {\n  to = fleet_cluster_target.prod\n  id = \"prod\"\n}\n"},
		{name: "import command", command: []string{"import", "-input=false", "fleet_cluster_target.prod", "prod"}},
		{name: "import of clusters", command: []string{"import", "-input=false", "fleet_cluster_target.prod", "prod/c1,c2"}},
		{name: "adoption_key", attributes: "adoption_key = \"only here\"\n"},
		{
			name: "adoption_key and fewer clusters", attributes: "adoption_key = \"only here\"\n", isSmaller: true,
			command: []string{"import", "-input=false", "fleet_cluster_target.prod", "prod"},
		},
	} {
		t.Run(way.name, func(t *testing.T) {
			s := engineStory{fleet: fleet, w: newWorkspace(t), namespace: "acc-engine-killed"}
			config := strings.Replace(engineConfig(s.namespace, "1", everyCluster), "  name    = \"prod\"\n", "  name    = \"prod\"\n  "+way.attributes, 1)
			s.w.configure(t, engineProvider(fleet, ""), config)
			s.killApply(t, "Fleet to process a Bundle", func(bundles []unstructured.Unstructured) bool {
				return slices.ContainsFunc(bundles, func(of unstructured.Unstructured) bool {
					processed, _, _ := unstructured.NestedInt64(of.Object, "status", "observedGeneration")
					return processed > 0
				})
			}, "-auto-approve")
			clusters := []string{"c1", "c2", "c3"}
			if way.isSmaller {
				clusters = clusters[1:]
				config = strings.Replace(config, everyCluster, `{ cluster_selector = { match_labels = { env = "prod" } } }`, 1)
				s.w.configure(t, engineProvider(fleet, ""), config)
			}
			if way.attributes == "" || way.isSmaller {
				s.w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "cannot create it", "import the target and plan again")
			}
			if way.command != nil {
				s.w.run(t, way.command...)
			}
			s.w.configure(t, engineProvider(fleet, ""), config, way.block)
			s.w.apply(t)
			s.w.expectEmptyPlan(t)
			s.wantMaps(t, clusters...)
			s.w.run(t, "destroy", "-auto-approve", "-input=false")
			s.wantMaps(t)
		})
	}
}

// killApply kills Terraform and the provider in an apply when a condition on the Bundles of the
// target is true.
func (s engineStory) killApply(t *testing.T, what string, is func(bundles []unstructured.Unstructured) bool, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), s.w.cli, append([]string{"apply", "-input=false", "-no-color"}, args...)...)
	command.Dir, command.Env, command.SysProcAttr = s.w.dir, s.w.env, &syscall.SysProcAttr{Setpgid: true}
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ours := metav1.ListOptions{LabelSelector: "agentless-fleet.github.io/owner=acc,agentless-fleet.github.io/target=prod"}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	s.until(t, what, func(ctx context.Context) (bool, error) {
		select {
		case err := <-ended:
			return false, fmt.Errorf("the apply has ended: %w\n%s", errors.Join(err, errors.New("too early")), output.String())
		default:
		}
		found, err := s.objects(t, "bundles").List(ctx, ours)
		return err == nil && is(found.Items), err
	})
	if err := syscall.Kill(-command.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Fatalf("waiting for %s: the apply succeeded before it was killed:\n%s", what, output.String())
	}
}

// identities returns the UIDs of ConfigMaps and Deployments in a namespace, and the templates of
// pods: another template restarts the pods.
func identities(t *testing.T, fleet *testenv.Fleet, namespace string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, cluster := range []string{"c1", "c2", "c3"} {
		client, err := kubernetes.NewForConfig(fleet.Cluster(cluster).RESTConfig())
		if err != nil {
			t.Fatal(err)
		}
		maps, err := client.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range maps.Items {
			found[cluster+" ConfigMap "+of.Name] = string(of.UID)
		}
		deployments, err := client.AppsV1().Deployments(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range deployments.Items {
			template, err := json.Marshal(of.Spec.Template)
			if err != nil {
				t.Fatal(err)
			}
			found[cluster+" Deployment "+of.Name] = string(of.UID) + " " + string(template)
		}
	}
	if len(found) < 15 { // four and kube-root-ca.crt on each
		t.Errorf("found %v", found)
	}
	return found
}
