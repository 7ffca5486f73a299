package kube_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/testenv"
)

// What a person reads about pods that do not become ready, as a real kubelet and scheduler report it.
func TestExplainsRealPods(t *testing.T) {
	t.Parallel()
	l := newLabIn(t, testenv.NewNodes(t, 1), "real")
	const never = "readinessProbe: {periodSeconds: 1, httpGet: {path: /ready, port: 8080}}"
	container := func(args, fields string) string {
		return fmt.Sprintf("containers: [{name: main, image: %q, args: [%s], %s}]", testenv.TestImage, args, fields)
	}
	tests := map[string]struct {
		// pod is the specification of the pod, and more are other objects.
		pod, more string
		want      []string
	}{
		"image": {
			pod:  `containers: [{name: main, image: "registry.invalid/none:1"}]`,
			want: []string{"(container main: ", `ImagePull`, `"registry.invalid/none:1"`, "lookup registry.invalid", "misbehaving)"},
		},
		"unschedulable": {
			pod:  "nodeSelector: {disk: fast}, " + container("", ""),
			want: []string{"(Unschedulable: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector"},
		},
		"probe": {
			pod:  container(`"-ready-after", 1h`, never),
			want: []string{"(container main: Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 503)"},
		},
		"evicted": {
			pod:  container(`"-write", "8", "-into", /data/file, "-ready-after", 1h`, never+", volumeMounts: [{name: data, mountPath: /data}]") + ", volumes: [{name: data, emptyDir: {sizeLimit: 1Mi}}]",
			want: []string{`Evicted: Usage of EmptyDir volume "data" exceeds the limit "1Mi".`},
		},
		"claim": {
			pod:  container("", "") + ", volumes: [{name: data, persistentVolumeClaim: {claimName: claim}}]",
			more: "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: claim}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}",
			want: []string{
				"PersistentVolumeClaim real/claim is InProgress: ", "(FailedBinding: no persistent volumes available for this claim and no storage class is set)",
				"Deployment real/claim is InProgress: ", "(Unschedulable: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
			},
		},
		"init": {
			pod:  fmt.Sprintf(`initContainers: [{name: migrate, image: %q, args: ["-say", "no table", "-exit", "4"]}], `, testenv.TestImage) + container("", ""),
			want: []string{"init container migrate: ", "it ended with exit code 4 (Error), and its log ends with: no table"},
		},
		"memory": {
			pod:  container(`"-memory", "128"`, never+", resources: {limits: {memory: 24Mi}}"),
			want: []string{"container main: ", "it ended with exit code 137 (OOMKilled)"},
		},
	}
	// All pods run at the same time.
	objects := map[string][]*resource.Info{}
	for name, test := range tests {
		deployment := fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %[1]s}\nspec: {selector: {matchLabels: {app: %[1]s}}, template: {metadata: {labels: {app: %[1]s}}, spec: {terminationGracePeriodSeconds: 1, %[2]s}}}", name, test.pod)
		objects[name] = l.infos(t, deployment, test.more)
		l.create(t, objects[name])
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := ""
			err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
				if err := l.Ready(ctx, objects[name], release.Readiness{Explains: true, Logs: true}); err != nil {
					text = err.Error()
				}
				return containsAll(text, test.want), nil
			})
			t.Log(text)
			if err != nil {
				t.Errorf("want it to contain %q", test.want)
			}
		})
	}
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
