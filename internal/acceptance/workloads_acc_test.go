package acceptance_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// workloads is a chart with typical workloads. NAME makes names of cluster-scoped objects unique,
// REPLICAS and VERSION change from step to step.
const workloads = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {version: {{ .Values.version | quote }}}}
    spec:
      containers: [{name: web, image: registry.k8s.io/pause:3.10, readinessProbe: {exec: {command: [/pause, -v]}}, volumeMounts: [{name: data, mountPath: /data}], resources: {requests: {cpu: 10m}}}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: {{ .Values.name }}}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteMany], storageClassName: manual, hostPath: {path: /tmp/none}, persistentVolumeReclaimPolicy: Delete}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteMany], storageClassName: manual, volumeName: {{ .Values.name }}, resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: registry.k8s.io/pause:3.10, readinessProbe: {exec: {command: [/pause, -v]}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {clusterIP: None, selector: {app: db}, ports: [{port: 80}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: migrate
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: registry.k8s.io/pause:3.10, args: [-v]}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: registry.k8s.io/pause:3.10, args: [-v]}]}}}
`

// Typical workloads are deployed, changed without being created again, and removed.
func TestAccRealWorkloads(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	bundle := func(replicas int, version string) string {
		return fmt.Sprintf(`
resource "fleet_bundle" "work" {
  name              = "work"
  default_namespace = %q
  files = {
    "Chart.yaml"          = yamlencode({ apiVersion = "v2", name = "work", version = "1.0.0" })
    "templates/work.yaml" = %q
  }
  helm = {
    wait_for_jobs = true
    values        = yamlencode({ name = %q, replicas = %d, version = %q })
  }
}
`, s.namespace, workloads, s.namespace, replicas, version)
	}
	uids := func() map[string]string {
		t.Helper()
		client, found := s.client(t, 0), map[string]string{}
		claim, err := client.CoreV1().PersistentVolumeClaims(s.namespace).Get(t.Context(), "data", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found["claim "+string(claim.Status.Phase)] = string(claim.UID)
		web, err := client.AppsV1().Deployments(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found["web"] = string(web.UID)
		db, err := client.AppsV1().StatefulSets(s.namespace).Get(t.Context(), "db", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found["db"] = string(db.UID)
		return found
	}
	w.configure(t, s.provider("", on), bundle(1, "a"), target("", "fleet_bundle.work.bundles"))
	w.apply(t)
	if diff := cmp.Diff(map[string]string{"a/work": "Ready"}, w.states(t)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	before := uids()
	w.expectEmptyPlan(t)
	w.configure(t, s.provider("", on), bundle(3, "b"), target("", "fleet_bundle.work.bundles"))
	w.apply(t)
	if diff := cmp.Diff(before, uids()); diff != "" {
		t.Errorf("objects (-before +after):\n%s", diff)
	}
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	s.expectNothing(t, 0)
	if _, err := s.client(t, 0).CoreV1().PersistentVolumes().Get(t.Context(), s.namespace, metav1.GetOptions{}); err == nil {
		t.Error("the volume is left")
	}
}

// A container that fails only fails its deployment, with an error. The next apply deploys the
// correction.
func TestAccFailingContainer(t *testing.T) {
	t.Parallel()
	s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
	if s.env.External() {
		t.Skip("containers fail on request on simulated nodes only")
	}
	workload := func(fails bool) string {
		manifest := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: one}\nspec:\n  minReadySeconds: 4\n  selector: {matchLabels: {app: one}}\n" +
			fmt.Sprintf("  template:\n    metadata: {labels: {app: one, pod-container-running-failed.stage.kwok.x-k8s.io: %q}}\n", fmt.Sprint(fails)) +
			"    spec: {containers: [{name: c, image: registry.k8s.io/pause:3.10, readinessProbe: {exec: {command: [/pause, -v]}}}]}\n"
		return s.bundleOf("one", manifest)
	}
	config := func(fails bool) {
		w.configure(t, s.provider("", on, on), workload(fails), s.bundle("two", "x"), target("deployment_timeout = \"8s\"", "fleet_bundle.one.bundles", "fleet_bundle.two.bundles"))
	}
	config(true)
	w.fail(t, []string{"apply", "-auto-approve", "-input=false"}, "a/one", "b/one", "not ready: Deployment "+s.namespace+"/one")
	want := map[string]string{"a/one": "ErrApplied", "b/one": "ErrApplied", "a/two": "Ready", "b/two": "Ready"}
	if diff := cmp.Diff(want, w.states(t)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	config(false)
	w.apply(t)
	w.expectEmptyPlan(t)
	w.run(t, "destroy", "-auto-approve")
	for i := range 2 {
		s.expectNothing(t, i)
	}
}

// A custom resource can come with its definition, in a chart's crds/ as well as
// side by side in plain manifests.
func TestAccDefinitionWithItsResource(t *testing.T) {
	t.Parallel()
	tests := map[string]func(group string) map[string]string{
		"plain manifests": func(group string) map[string]string {
			return map[string]string{"a.yaml": lamp(group), "b.yaml": lampDefinition(group)}
		},
		"templates of a chart": func(group string) map[string]string {
			return map[string]string{
				"Chart.yaml": "apiVersion: v2\nname: lamps\nversion: 1.0.0\n", "templates/a.yaml": lamp(group), "templates/b.yaml": lampDefinition(group),
			}
		},
		"crds of a chart": func(group string) map[string]string {
			return map[string]string{
				"Chart.yaml": "apiVersion: v2\nname: lamps\nversion: 1.0.0\n", "templates/a.yaml": lamp(group), "crds/b.yaml": lampDefinition(group),
			}
		},
	}
	for name, files := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newFixture(t, testenv.Shared(t)), newWorkspace(t)
			group := s.namespace + ".example.com"
			var list strings.Builder
			for file, content := range files(group) {
				fmt.Fprintf(&list, "    %q = %q\n", file, content)
			}
			bundle := fmt.Sprintf("resource \"fleet_bundle\" \"one\" {\n  name = \"one\"\n  default_namespace = %q\n  delete_crd_resources = true\n  files = {\n%s  }\n}\n", s.namespace, list.String())
			t.Cleanup(func() {
				ctx, cancel := cleanupContext(t)
				defer cancel()
				if err := s.definitions(t, 0).Delete(ctx, "lamps."+group, metav1.DeleteOptions{}); err != nil {
					t.Logf("removing the definition of the test: %v", err)
				}
			})
			w.configure(t, s.provider("", on), bundle, target("", "fleet_bundle.one.bundles"))
			w.apply(t)
			s.expectReleases(t, 0, "one")
			w.expectEmptyPlan(t)
			w.run(t, "destroy", "-auto-approve")
			s.expectReleases(t, 0)
			eventually(t, "the resources are gone", func(ctx context.Context) (bool, error) {
				left, err := s.dynamic(t, 0).Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "lamps"}).Namespace(s.namespace).List(ctx, metav1.ListOptions{})
				return err != nil || len(left.Items) == 0, nil //nolint:nilerr // without the definition there is no list
			})
		})
	}
}

func lampDefinition(group string) string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: lamps." + group + "}\n" +
		"spec:\n  group: " + group + "\n  scope: Namespaced\n  names: {kind: Lamp, plural: lamps}\n" +
		"  versions:\n  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n"
}

func lamp(group string) string {
	return "apiVersion: " + group + "/v1\nkind: Lamp\nmetadata: {name: lamp}\nspec: {color: red}\n"
}

func (s *fixture) definitions(t *testing.T, i int) dynamic.ResourceInterface {
	t.Helper()
	return s.dynamic(t, i).Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
}
