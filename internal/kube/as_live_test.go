package kube

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
)

// A take-over is shown with the wanted fields as they are on the cluster: other fields of the live
// object are not changed, so they are not shown.
func TestAsLive(t *testing.T) {
	t.Parallel()
	const (
		web     = "apiVersion: apps/v1, kind: Deployment, "
		config  = "apiVersion: v1, kind: ConfigMap, "
		secret  = "apiVersion: v1, kind: Secret, " //nolint:gosec // contains no secret
		service = "apiVersion: v1, kind: Service, "
	)
	tests := map[string]struct{ wanted, live, want string }{
		"the same":      {wanted: config + "data: {a: x}", live: config + "data: {a: x, more: y}", want: config + "data: {a: x}"},
		"another value": {wanted: config + "data: {a: x, b: y}", live: config + "data: {a: z, b: y}", want: config + "data: {a: z, b: y}"},
		"a missing key": {wanted: config + "data: {a: x, b: y}", live: config + "data: {b: y}", want: config + "data: {b: y}"},
		"no map":        {wanted: config + "data: {a: x}", live: config, want: config[:len(config)-2]},
		"replicas and an image": {
			wanted: web + "spec: {replicas: 2, template: {spec: {containers: [{name: app, image: nginx:1}]}}}",
			live:   web + "spec: {replicas: 5, paused: true, template: {spec: {restartPolicy: Always, containers: [{name: mesh, image: m}, {name: app, image: nginx:9, tty: true}]}}}",
			want:   web + "spec: {replicas: 5, template: {spec: {containers: [{name: app, image: nginx:9}]}}}",
		},
		"a container that is added": {
			wanted: web + "spec: {template: {spec: {containers: [{name: app, image: a}, {name: more, image: m}]}}}",
			live:   web + "spec: {template: {spec: {containers: [{name: app, image: a}]}}}",
			want:   web + "spec: {template: {spec: {containers: [{name: app, image: a}]}}}",
		},
		"a quantity in another notation": {
			wanted: web + "spec: {template: {spec: {containers: [{name: app, resources: {limits: {cpu: 1000m, memory: 1Gi}}}]}}}",
			live:   web + "spec: {template: {spec: {containers: [{name: app, resources: {limits: {cpu: '1', memory: 2Gi}}}]}}}",
			want:   web + "spec: {template: {spec: {containers: [{name: app, resources: {limits: {cpu: 1000m, memory: 2Gi}}}]}}}",
		},
		"one of two ports with one key": {
			wanted: service + "spec: {ports: [{port: 53, protocol: UDP, targetPort: 1}]}",
			live:   service + "spec: {ports: [{port: 53, protocol: UDP, targetPort: 2}, {port: 53, protocol: TCP, targetPort: 3}]}",
			want:   service + "spec: {ports: [{port: 53, protocol: UDP, targetPort: 2}]}",
		},
		"a list that is replaced": {
			wanted: web + "spec: {template: {spec: {containers: [{name: app, args: [a, b]}]}}}",
			live:   web + "spec: {template: {spec: {containers: [{name: app, args: [a]}]}}}",
			want:   web + "spec: {template: {spec: {containers: [{name: app, args: [a]}]}}}",
		},
		"a secret": {wanted: secret + "stringData: {a: x}", live: secret + "data: {a: eQ==, b: eg==}", want: secret + "data: {a: eQ==}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wanted := object(t, "{"+test.wanted+"}")
			before := wanted.DeepCopy()
			got, err := json.Marshal(asLive(wanted, object(t, "{"+test.live+"}"), func(release.Difference) bool { return false }))
			if err != nil {
				t.Fatal(err)
			}
			want, err := json.Marshal(contentOf(object(t, "{"+test.want+"}")))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, wanted); diff != "" {
				t.Errorf("the wanted object was changed (-before +after):\n%s", diff)
			}
		})
	}
}
