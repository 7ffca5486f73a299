package kube_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
)

// manifest reads objects as they are stored in the record of a release.
func manifest(t *testing.T, documents ...string) []*unstructured.Unstructured {
	t.Helper()
	objects := make([]*unstructured.Unstructured, len(documents))
	for i, document := range documents {
		content, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		objects[i] = &unstructured.Unstructured{}
		if err := objects[i].UnmarshalJSON(content); err != nil {
			t.Fatal(err)
		}
	}
	return objects
}

// inspection is the release r of the lab's namespace.
func (l lab) inspection(rules release.Rules) release.Inspection {
	return release.Inspection{Observed: release.Observed{Release: "r", Namespace: l.namespace}, Rules: rules}
}

// inspect inspects one release.
func (l lab) inspect(t *testing.T, client *kube.Client, rules release.Rules, documents ...string) release.Finding {
	t.Helper()
	found := client.Inspect(t.Context(), []release.Inspection{l.inspection(rules)}, [][]*unstructured.Unstructured{manifest(t, documents...)})
	if found[0].Err != nil {
		t.Fatal(found[0].Err)
	}
	return found[0]
}

// paths returns the differences of a finding, by object.
func paths(f release.Finding) map[string][]string {
	found := map[string][]string{}
	for _, modified := range f.Modified {
		for _, difference := range modified.Differences {
			found[modified.Object] = append(found[modified.Object], difference.Path)
		}
	}
	return found
}

func expectPaths(t *testing.T, f release.Finding, want map[string][]string) {
	t.Helper()
	if diff := cmp.Diff(want, paths(f), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("what differs (-want +got):\n%s", diff)
	}
}

// defaulted returns objects on which API servers set defaults, and whose values they write in
// another notation.
func defaulted(namespace string) []string {
	const template = "template: {metadata: {labels: {app: a}}, spec: {%s containers: [{name: main, image: \"" + image + "\", ports: [{containerPort: 80}], " +
		"env: [{name: A, value: x}, {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}], resources: {limits: {cpu: 1000m, memory: 1024Mi}, requests: {cpu: 0.1}}, " +
		"livenessProbe: {httpGet: {path: /, port: 80}}, securityContext: {privileged: false}}], " +
		"volumes: [{name: c, configMap: {name: c}}, {name: p, projected: {sources: [{serviceAccountToken: {path: t}}]}}, {name: e, emptyDir: {}}]}}"
	pods := func(extra string) string { return fmt.Sprintf(template, extra) }
	return []string{
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: {app: a}}\nspec: {selector: {matchLabels: {app: a}}, revisionHistoryLimit: 10, " + pods("") + "}",
		"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec: {replicas: 0, serviceName: a, selector: {matchLabels: {app: a}}, " + pods("") +
			", volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}]}",
		"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a}\nspec: {selector: {matchLabels: {app: a}}, " + pods("nodeSelector: {no: node},") + "}",
		"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: '0 0 1 1 *', jobTemplate: {spec: {" + pods("restartPolicy: Never,") + "}}}",
		"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {selector: {app: a}, ports: [{name: t, port: 53, targetPort: 53}, {name: u, port: 53, protocol: UDP}]}",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: hidden}\ndata: {more: aGlkZGVu}",
		"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}",
		"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\nspec: {rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {number: 53}}}}]}}]}",
		"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: a}\nspec: {podSelector: {}, ingress: [{ports: [{port: 80}], from: [{podSelector: {}}]}]}",
		"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {minAvailable: 0, selector: {matchLabels: {app: a}}}",
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: a}\nrules: [{apiGroups: [''], resources: [pods], verbs: [get]}]",
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: a}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}\nsubjects: [{kind: ServiceAccount, name: a, namespace: " + namespace + "}]",
		"apiVersion: v1\nkind: LimitRange\nmetadata: {name: a}\nspec: {limits: [{type: Container, max: {cpu: 2000m}}]}",
		"apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: a}\nspec: {hard: {limits.cpu: 100000m, pods: 50}}",
		"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: " + namespace + "}\nvalue: 10",
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: " + namespace + "}\naggregationRule: {clusterRoleSelectors: [{matchLabels: {rbac.authorization.k8s.io/aggregate-to-view: 'true'}}]}\nrules: []",
		"apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: " + namespace + "}\nwebhooks: [{name: a.example.com, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {service: {name: a, namespace: a}}, " +
			"rules: [{apiGroups: [none.example.com], apiVersions: [v1], operations: [CREATE], resources: [nothings]}]}]",
		"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}",
	}
}

func TestAccServerDefaultsAreNoDrift(t *testing.T) {
	t.Parallel()
	l := newLab(t, "drift-defaults")
	documents := defaulted(l.namespace)
	infos := l.infos(t, documents...)
	l.create(t, infos)
	t.Cleanup(func() { l.removeClusterScoped(t, l.namespace) })
	found := l.inspect(t, l.Client, release.Rules{}, documents...)
	expectPaths(t, found, nil)
	if len(found.Missing)+len(found.NotOwned)+len(found.Refused) > 0 || found.Ready+len(found.NotReady) != len(documents) {
		t.Errorf("found %+v, want %d objects as they were deployed", found, len(documents))
	}
	// Certificates, and labels of other controllers, are not differences.
	l.patch(t, infos[16], `{"webhooks":[{"name":"a.example.com","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"caBundle":"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJkekNDQVIyZ0F3SUJBZ0lCQURBS0JnZ3Foa2pPUFFRREFqQWpNU0V3SHdZRFZRUUREQmhyTTNNdGMyVnkKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=","service":{"name":"a","namespace":"a"}},"rules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["nothings"]}]}]}`, "")
	l.patch(t, infos[0], `{"metadata":{"labels":{"of":"another"},"annotations":{"of":"another"}},"spec":{"template":{"metadata":{"annotations":{"of":"another"}}}}}`, "")
	expectPaths(t, l.inspect(t, l.Client, release.Rules{}, documents...), nil)
}

func (l lab) removeClusterScoped(t *testing.T, name string) {
	t.Helper()
	l.remove(t, l.infos(t,
		"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: "+name+"}\nvalue: 10",
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: "+name+"}",
		"apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: "+name+"}"))
}

func TestAccDriftIsFound(t *testing.T) {
	t.Parallel()
	l := newLab(t, "drift-found")
	documents := []string{
		webDeployment(), configMap("settings", "") + "\ndata: {a: x}", configMap("gone", ""),
		configMap("theirs", ", annotations: {meta.helm.sh/release-name: other, meta.helm.sh/release-namespace: elsewhere}"),
		"apiVersion: v1\nkind: Secret\nmetadata: {name: password}\nstringData: {password: hidden}",
		"apiVersion: nowhere.example.com/v1\nkind: Ghost\nmetadata: {name: boo}",
	}
	infos := l.infos(t, append([]string{documents[0], documents[1], documents[3]}, documents[4])...)
	l.create(t, infos)
	l.patch(t, infos[0], `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"example.com/other"}]}}}}`, "")
	l.patch(t, infos[1], `{"data":{"a":"y","b":"theirs"}}`, "")
	l.patch(t, infos[3], `{"stringData":{"password":"guessed"}}`, "")

	found := l.inspect(t, l.Client, release.Rules{}, documents...)
	expectPaths(t, found, map[string][]string{
		"Deployment drift-found/web":     {"spec.template.spec.containers[main].image"},
		"ConfigMap drift-found/settings": {"data.a"},
		"Secret drift-found/password":    {"data.password"},
	})
	if diff := cmp.Diff([]string{"ConfigMap drift-found/gone", "Ghost drift-found/boo"}, found.Missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]release.OwnedObject{{Object: "ConfigMap drift-found/theirs", Owner: "elsewhere/other"}}, found.NotOwned); diff != "" {
		t.Errorf("not owned (-want +got):\n%s", diff)
	}
	if text := fmt.Sprintf("%+v", found); strings.Contains(text, "guessed") || strings.Contains(text, "hidden") {
		t.Errorf("a secret value can be read: %s", text)
	}

	// A difference that existed when the release was written does not count.
	stored := l.inspection(release.Rules{})
	stored.Accepted = found.Differences()
	again := l.Inspect(t.Context(), []release.Inspection{stored}, [][]*unstructured.Unstructured{manifest(t, documents...)})[0]
	expectPaths(t, again, nil)
	l.patch(t, infos[1], `{"data":{"a":"z"}}`, "")
	again = l.Inspect(t.Context(), []release.Inspection{stored}, [][]*unstructured.Unstructured{manifest(t, documents...)})[0]
	expectPaths(t, again, map[string][]string{"ConfigMap drift-found/settings": {"data.a"}})
}

func TestAccDriftOfScaledWorkloads(t *testing.T) {
	t.Parallel()
	l := newLab(t, "drift-scaled")
	autoscaler := "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec: {minReplicas: 2, maxReplicas: 4, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}"
	infos := l.infos(t, webDeployment(), autoscaler)
	l.create(t, infos)
	differs := map[string][]string{"Deployment drift-scaled/web": {"spec.replicas"}}
	for _, test := range []struct {
		replicas int
		want     map[string][]string
	}{{replicas: 4}, {replicas: 3}, {replicas: 5, want: differs}, {replicas: 1, want: differs}} {
		l.patch(t, infos[0], fmt.Sprintf(`{"spec":{"replicas":%d}}`, test.replicas), "")
		expectPaths(t, l.inspect(t, l.Client, release.Rules{}, webDeployment(), autoscaler), test.want)
	}
	l.patch(t, infos[0], `{"spec":{"replicas":4}}`, "")
	expectPaths(t, l.inspect(t, l.Client, release.Rules{}, webDeployment()), differs) // The autoscaler belongs to another bundle.
}

func TestAccDriftWithComparePatches(t *testing.T) {
	t.Parallel()
	l := newLab(t, "drift-patches")
	documents := []string{webDeployment(), configMap("settings", "") + "\ndata: {a: x, b: x}", configMap("gone-1", "")}
	infos := l.infos(t, documents[:2]...)
	l.create(t, infos)
	l.patch(t, infos[0], `{"spec":{"replicas":3}}`, "")
	l.patch(t, infos[1], `{"data":{"a":"y","b":"y"}}`, "")
	of := func(kind, apiVersion, name string) fleetyaml.ComparePatch {
		return fleetyaml.ComparePatch{APIVersion: apiVersion, Kind: kind, Name: name, Namespace: l.namespace}
	}
	pointers := of("Deploy*", "apps/v1", "")
	pointers.JSONPointers = []string{"/spec/replicas"}
	operations := of("ConfigMap", "v1", "settings")
	operations.Operations = []fleetyaml.Operation{{Op: "remove", Path: "/data/a"}}
	ignore := of("ConfigMap", "v1", "gone-[0-9]")
	ignore.Operations = []fleetyaml.Operation{{Op: "ignore"}}

	found := l.inspect(t, l.Client, release.Rules{ComparePatches: []fleetyaml.ComparePatch{pointers, operations, ignore}}, documents...)
	expectPaths(t, found, map[string][]string{"ConfigMap drift-patches/settings": {"data.b"}})
	if len(found.Missing) > 0 {
		t.Errorf("missing: %q", found.Missing)
	}
}

func TestAccDriftOfCustomResources(t *testing.T) {
	t.Parallel()
	l := newLab(t, "drift-custom")
	definition := strings.ReplaceAll(widgets, "wait.example.com", "drift.example.com")
	definition = strings.Replace(definition, "type: object, x-kubernetes-preserve-unknown-fields: true",
		"type: object, properties: {spec: {type: object, properties: {size: {type: integer}, color: {type: string, default: red}, list: {type: array, items: {type: object, properties: {a: {type: integer}, b: {type: integer, default: 2}}}}}}, status: {type: object, x-kubernetes-preserve-unknown-fields: true}}", 1)
	const widget = "apiVersion: drift.example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3, list: [{a: 1}]}"
	defined := l.infos(t, definition)
	l.create(t, defined)
	t.Cleanup(func() { l.remove(t, defined) })
	if err := l.WaitReady(soon(t, long), defined, withJobs); err != nil {
		t.Fatal(err)
	}
	made := l.infos(t, widget)
	l.create(t, made)
	expectPaths(t, l.inspect(t, l.Client, release.Rules{}, definition, widget), nil)
	l.patch(t, made[0], `{"spec":{"size":4,"color":"blue"}}`, "")
	expectPaths(t, l.inspect(t, l.Client, release.Rules{}, definition, widget), map[string][]string{"Widget drift-custom/w": {"spec.size"}})
	l.patch(t, made[0], `{"spec":{"size":3}}`, "")
	l.patch(t, made[0], `{"status":{"conditions":[{"type":"Stalled","status":"True","message":"no quota"}]}}`, "status")
	if found := l.inspect(t, l.Client, release.Rules{}, widget); len(found.NotReady) != 1 || found.NotReady[0].Reason != "Failed: no quota" {
		t.Errorf("found %+v, want that it is not ready", found)
	}
	ignore := release.Rules{Ignore: []map[string]string{{"type": "Stalled"}}}
	if found := l.inspect(t, l.Client, ignore, widget); found.Ready != 1 {
		t.Errorf("found %+v, want that it is ready", found)
	}
}

// A kind that must not be read is left out, and all other objects are inspected.
func TestAccDriftWithoutRightsOnOneKind(t *testing.T) {
	t.Parallel()
	l := newLab(t, "drift-denied")
	secretNamed := func(name string) string { return "apiVersion: v1\nkind: Secret\nmetadata: {name: " + name + "}" }
	documents := []string{configMap("settings", "") + "\ndata: {a: x}", secretNamed("a"), secretNamed("b"), webDeployment()}
	infos := l.infos(t, documents...)
	l.create(t, infos)
	l.patch(t, infos[0], `{"data":{"a":"y"}}`, "")
	user := l.user(t, "drift-denied", rbacv1.PolicyRule{APIGroups: []string{"", "apps"}, Resources: []string{"configmaps", "deployments"}, Verbs: []string{"get", "list"}})
	found := l.inspect(t, clientOf(t, connect.Connection{Kubeconfig: secret.Hide(user.Kubeconfig)}), release.Rules{}, documents...)
	expectPaths(t, found, map[string][]string{"ConfigMap drift-denied/settings": {"data.a"}})
	if diff := cmp.Diff(map[string]int{"Secret": 2}, found.Refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	if found.Ready+len(found.NotReady) != 1 || len(found.Missing) > 0 {
		t.Errorf("found %+v, want that the deployment was looked at", found)
	}
}

// If a cluster does not respond, nothing is reported about its objects.
func TestAccDriftOfAClusterThatIsAway(t *testing.T) {
	t.Parallel()
	l := newLab(t, "drift-away")
	away := clientOf(t, connect.Connection{Host: "https://127.0.0.1:1", Token: secret.Hide("t"), Insecure: true})
	found := away.Inspect(t.Context(), []release.Inspection{l.inspection(release.Rules{})}, [][]*unstructured.Unstructured{manifest(t, configMap("a", ""))})
	if found[0].Err == nil || len(found[0].Missing) > 0 {
		t.Errorf("found %+v, want an error", found[0])
	}
}

// All releases of a cluster are inspected together: one list for each kind and namespace.
func TestAccDriftOfManyReleasesTakesFewRequests(t *testing.T) {
	t.Parallel()
	l := newLab(t, "drift-many")
	const managed = ", labels: {app.kubernetes.io/managed-by: Helm}"
	var (
		releases []release.Inspection
		wanted   [][]*unstructured.Unstructured
		all      []string
	)
	for i := range 20 {
		documents := []string{
			configMap(fmt.Sprintf("a%02d", i), managed), configMap(fmt.Sprintf("b%02d", i), managed),
			fmt.Sprintf("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a%02d%s}", i, managed),
		}
		all = append(all, documents...)
		releases, wanted = append(releases, l.inspection(release.Rules{})), append(wanted, manifest(t, documents...))
	}
	l.create(t, l.infos(t, all...))
	var counted atomic.Int64
	client := counting(t, l, &counted)
	if _, err := client.ToRESTMapper(); err != nil {
		t.Fatal(err)
	}
	client.Inspect(t.Context(), releases, wanted) // Reads discovery.
	before := counted.Load()
	for _, found := range client.Inspect(t.Context(), releases, wanted) {
		if found.Err != nil || found.Ready != 3 {
			t.Errorf("found %+v", found)
		}
	}
	if got := counted.Load() - before; got != 2 {
		t.Errorf("%d requests were made for 60 objects of 20 releases, want 2 lists", got)
	}
}
