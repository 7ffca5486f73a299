package kube

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestDifferences(t *testing.T) {
	t.Parallel()
	const (
		web       = "apiVersion: apps/v1, kind: Deployment, "
		config    = "apiVersion: v1, kind: ConfigMap, "
		secret    = "apiVersion: v1, kind: Secret, " //nolint:gosec // contains no secret
		service   = "apiVersion: v1, kind: Service, "
		widget    = "apiVersion: example.com/v1, kind: Widget, "
		policy    = "apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, "
		role      = "apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, "
		webhook   = "apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, "
		container = "spec: {template: {spec: {containers: [{name: app, image: a, "
	)
	tests := map[string]struct {
		wanted, live string
		want         []string
	}{
		"the same":                      {wanted: config + "data: {a: x}", live: config + "data: {a: x}"},
		"a value":                       {wanted: config + "data: {a: x, b: y}", live: config + "data: {a: z, b: y}", want: []string{"data.a"}},
		"a key is gone":                 {wanted: config + "data: {a: x, b: ''}", live: config + "data: {}", want: []string{"data.a", "data.b"}},
		"all keys are gone":             {wanted: config + "data: {a: x}", live: config, want: []string{"data"}},
		"a key of somebody else":        {wanted: config + "data: {a: x}", live: config + "data: {a: x, b: y}"},
		"no data wanted":                {wanted: config + "data: {}", live: config},
		"an awkward key":                {wanted: config + "data: {a.yaml: x}", live: config + "data: {a.yaml: y}", want: []string{"data[a.yaml]"}},
		"status":                        {wanted: web + "status: {replicas: 1}", live: web + "status: {replicas: 2}"},
		"a label of somebody else":      {wanted: config + "metadata: {labels: {a: x}}", live: config + "metadata: {labels: {a: x, b: w}}"},
		"a label":                       {wanted: config + "metadata: {labels: {a: x}}", live: config + "metadata: {labels: {a: w}}", want: []string{"metadata.labels.a"}},
		"what Helm puts on objects":     {wanted: config + "metadata: {labels: {app.kubernetes.io/managed-by: me}}", live: config + "metadata: {labels: {app.kubernetes.io/managed-by: Helm}}"},
		"finalizers and owners":         {wanted: config + "metadata: {finalizers: [a]}", live: config + "metadata: {finalizers: [b], ownerReferences: [{name: c}]}"},
		"server defaults":               {wanted: web + container + "ports: [{containerPort: 80}]}]}}}", live: web + container + "imagePullPolicy: Always, resources: {}, ports: [{containerPort: 80, protocol: TCP}]}], restartPolicy: Always}}, replicas: 1, strategy: {type: RollingUpdate}}"},
		"quantities":                    {wanted: web + container + "resources: {limits: {cpu: 1000m, memory: 1024Mi}, requests: {cpu: 0.5}}}]}}}", live: web + container + "resources: {limits: {cpu: '1', memory: 1Gi}, requests: {cpu: 500m}}}]}}}"},
		"another quantity":              {wanted: web + container + "resources: {limits: {cpu: 1000m}}}]}}}", live: web + container + "resources: {limits: {cpu: '2'}}}]}}}", want: []string{"spec.template.spec.containers[app].resources.limits.cpu"}},
		"an image":                      {wanted: web + container + "}]}}}", live: strings.Replace(web+container+"}]}}}", "image: a", "image: b", 1), want: []string{"spec.template.spec.containers[app].image"}},
		"a sidecar of somebody else":    {wanted: web + container + "}]}}}", live: web + "spec: {template: {spec: {containers: [{name: mesh, image: m}, {name: app, image: a}]}}}"},
		"a container is gone":           {wanted: web + container + "}, {name: b}]}}}", live: web + container + "}]}}}", want: []string{"spec.template.spec.containers[b]"}},
		"an environment variable":       {wanted: web + container + "env: [{name: A, value: x}, {name: B}]}]}}}", live: web + container + "env: [{name: OTHER, value: o}, {name: B}, {name: A, value: y}]}]}}}", want: []string{"spec.template.spec.containers[app].env[A].value"}},
		"zeros":                         {wanted: web + "spec: {paused: false, minReadySeconds: 0, template: {spec: {hostNetwork: false, nodeSelector: {}, tolerations: []}}}", live: web + "spec: {template: {spec: {}}}"},
		"no longer zero":                {wanted: web + "spec: {paused: false}", live: web + "spec: {paused: true}", want: []string{"spec.paused"}},
		"null":                          {wanted: web + "spec: {replicas: null}", live: web + "spec: {replicas: 3}"},
		"a field the server has not":    {wanted: web + "spec: {replicas: 1, wishes: 3}", live: web + "spec: {replicas: 1}"},
		"replicas":                      {wanted: web + "spec: {replicas: 1}", live: web + "spec: {replicas: 3}", want: []string{"spec.replicas"}},
		"ports of two protocols":        {wanted: service + "spec: {ports: [{port: 53, protocol: TCP, name: t}, {port: 53, protocol: UDP, name: u}]}", live: service + "spec: {ports: [{port: 53, protocol: TCP, name: t, targetPort: 53}, {port: 53, protocol: UDP, name: u, targetPort: 53}]}"},
		"a port of two":                 {wanted: service + "spec: {ports: [{port: 53, protocol: UDP, name: u, targetPort: 1}]}", live: service + "spec: {ports: [{port: 53, protocol: UDP, name: u, targetPort: 2}]}", want: []string{"spec.ports[53].targetPort"}},
		"defaults in a list of one":     {wanted: policy + "spec: {ingress: [{ports: [{port: 80}]}]}", live: policy + "spec: {ingress: [{ports: [{port: 80, protocol: TCP}]}]}"},
		"a longer list":                 {wanted: policy + "spec: {ingress: [{ports: [{port: 80}]}]}", live: policy + "spec: {ingress: [{ports: [{port: 80}]}, {}]}", want: []string{"spec.ingress"}},
		"an item of a list":             {wanted: policy + "spec: {ingress: [{ports: [{port: 80}]}]}", live: policy + "spec: {ingress: [{ports: [{port: 81}]}]}", want: []string{"spec.ingress[0].ports[0].port"}},
		"a service account's secrets":   {wanted: "apiVersion: v1, kind: ServiceAccount, secrets: [{name: a}]", live: "apiVersion: v1, kind: ServiceAccount, secrets: [{name: b}, {name: a}]"},
		"stringData":                    {wanted: secret + "stringData: {a: x}", live: secret + "data: {a: eA==}"},
		"stringData over data":          {wanted: secret + "stringData: {a: x}, data: {a: eg==}", live: secret + "data: {a: eA==}"},
		"data in several lines":         {wanted: secret + "data: {a: \"eA\\n==\\n\"}", live: secret + "data: {a: eA==}"},
		"a secret value":                {wanted: secret + "stringData: {a: x}", live: secret + "data: {a: eg==}", want: []string{"data.a"}},
		"an aggregated role":            {wanted: role + "aggregationRule: {clusterRoleSelectors: []}, rules: []", live: role + "aggregationRule: {clusterRoleSelectors: []}, rules: [{verbs: [get]}]"},
		"rules of a role":               {wanted: role + "rules: [{verbs: [get]}]", live: role + "rules: [{verbs: [get, list]}]", want: []string{"rules[0].verbs"}},
		"a certificate of a webhook":    {wanted: webhook + "webhooks: [{name: a, clientConfig: {url: u, caBundle: Cg==}}]", live: webhook + "webhooks: [{name: a, clientConfig: {url: u, caBundle: eA==}}]"},
		"a webhook":                     {wanted: webhook + "webhooks: [{name: a, clientConfig: {url: u}}]", live: webhook + "webhooks: [{name: a, clientConfig: {url: v, caBundle: eA==}}]", want: []string{"webhooks[a].clientConfig.url"}},
		"custom: the same":              {wanted: widget + "spec: {size: 3, list: [{a: 1}], deep: {b: 1.0}}", live: widget + "spec: {size: 3, list: [{a: 1, default: x}], deep: {b: 1}}, status: {ready: true}"},
		"custom: a field":               {wanted: widget + "spec: {size: 3}", live: widget + "spec: {size: 4}", want: []string{"spec.size"}},
		"custom: a field is gone":       {wanted: widget + "spec: {size: 3}", live: widget + "spec: {}", want: []string{"spec.size"}},
		"custom: an item is gone":       {wanted: widget + "spec: {list: [{a: 1}, {b: 2}]}", live: widget + "spec: {list: [{a: 1}]}", want: []string{"spec.list"}},
		"what cannot be read as a type": {wanted: web + "spec: {replicas: many}", live: web + "spec: {replicas: 1}", want: []string{"spec.replicas"}},
		"another type":                  {wanted: widget + "spec: {a: {b: 1}, c: [1]}", live: widget + "spec: {a: x, c: y}", want: []string{"spec.a", "spec.c"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			wanted, live := object(t, "{"+test.wanted+"}"), object(t, "{"+test.live+"}")
			for _, of := range []*unstructured.Unstructured{wanted, live} { // Most objects are as they are wanted.
				if found := differencesOf(contentOf(of), contentOf(of), isSecret(of)); len(found) > 0 || !contains(contentOf(of), contentOf(of)) {
					t.Errorf("an object differs from itself: %v", found)
				}
			}
			if found := differencesOf(contentOf(wanted), contentOf(live), isSecret(wanted)); contains(contentOf(live), contentOf(wanted)) && len(found) > 0 {
				t.Errorf("everything is contained, and yet differs: %v", found)
			}
			for _, difference := range differences(wanted, live) {
				got = append(got, difference.Path)
				if (difference.Fingerprint == "-") != strings.HasPrefix(test.wanted, secret) {
					t.Errorf("%s has the fingerprint %q", difference.Path, difference.Fingerprint)
				}
			}
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFingerprintsDifferByValue(t *testing.T) {
	t.Parallel()
	wanted := object(t, "{apiVersion: v1, kind: ConfigMap, data: {a: x}}")
	fingerprint := func(live string) string {
		return differences(wanted, object(t, "{apiVersion: v1, kind: ConfigMap, data: {a: "+live+"}}"))[0].Fingerprint
	}
	first, again, other := fingerprint("y"), fingerprint("y"), fingerprint("z")
	if first != again || first == other {
		t.Error("a fingerprint does not stand for a value")
	}
}
