package helm_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/faulttest"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/helm"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/kube/connect"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/render"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/secret"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/worker/templates"
)

// A user with rights in two namespaces finds the releases there, with lists of these namespaces only. A
// namespace that it may not list is an error and not empty.
func TestAccRecordsOfSomeNamespaces(t *testing.T) {
	t.Parallel()
	const one, two, three, four = "records-one", "records-two", "records-three", "records-four"
	o := newOnCluster(t, one)
	for _, name := range []string{two, three, four} {
		o.makeNamespace(name)
	}
	install := func(namespace string, names ...string) {
		for _, name := range names {
			d := o.deployment(map[string]string{"a.yaml": configMapFile(namespace, name)})
			d.Namespace, d.Release = namespace, name
			w := release.Write{Mark: release.NewMark("owner", "target", "records", name, d.Digest), Proof: proof(), Timeout: time.Minute, MaxHistory: 5}
			if _, err := o.client.Write(t.Context(), release.Install, d, nil, w); err != nil {
				t.Fatal(err)
			}
		}
	}
	install(one, "a", "b", "c", "d")
	install(two, "a")
	install(three, "a")

	cluster := o.env.Cluster(0)
	for _, namespace := range []string{one, two} {
		if err := cluster.Allow(t.Context(), "records", namespace, []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list"}}}); err != nil {
			t.Fatal(err)
		}
	}
	user, err := cluster.User(t.Context(), "records", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.RemoveUser(context.WithoutCancel(t.Context()), "records") })
	proxy := faulttest.New(t, cluster)
	connection, err := kube.New(connect.Connection{Host: proxy.Host(), ClusterCACertificate: string(proxy.CACertificate()), Token: secret.Hide(user.Token)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	limited := func(namespaces ...string) *helm.Client {
		return helm.New(connection, &render.Charts{Sandbox: &templates.Renderer{}}, &helm.RecordCache{}, nil, namespaces...)
	}

	proxy.Record()
	client := limited(one, two)
	found, leftOut, err := client.Releases(t.Context())
	if err != nil || len(leftOut) > 0 {
		t.Fatalf("left out %v, %v", leftOut, err)
	}
	keys := slices.Sorted(maps.Keys(found))
	if diff := cmp.Diff([]string{one + "/a", one + "/b", one + "/c", one + "/d", two + "/a"}, keys); diff != "" {
		t.Errorf("releases (-want +got):\n%s", diff)
	}
	renderings, err := client.StoredRenderings(t.Context(), slices.Collect(maps.Values(found)))
	if err != nil || len(renderings) != len(keys) {
		t.Errorf("%d renderings, %v", len(renderings), err)
	}
	var lists, reads []string
	for _, call := range proxy.Recorded() {
		path, _, _ := strings.Cut(call.URL, "?")
		switch namespace, isSecret := strings.CutPrefix(path, "/api/v1/namespaces/"); {
		case call.Status == http.StatusForbidden || path == "/api/v1/secrets":
			t.Errorf("the cluster was sent %s", call)
		case isSecret && call.Verb == "list":
			lists = append(lists, strings.TrimSuffix(namespace, "/secrets"))
		case isSecret:
			reads = append(reads, namespace)
		}
	}
	slices.Sort(lists)
	if diff := cmp.Diff([]string{one, one, two}, lists); diff != "" { // Metadata of both, and the records of one.
		t.Errorf("lists (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{two + "/secrets/sh.helm.release.v1.a.v1"}, reads); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}

	_, err = client.Release(t.Context(), three, "a")
	if _, is := errors.AsType[*release.ListDeniedError](err); is || !apierrors.IsForbidden(err) {
		t.Errorf("one release: %v, want that it is forbidden whatever the namespaces are", err)
	}

	tests := map[string]struct {
		namespaces, others []string
		says               string
	}{
		"all":          {says: `cannot list resource "secrets" in API group "" at the cluster scope`},
		"several more": {namespaces: []string{one, three, four}, others: []string{four}, says: `in the namespace "` + three + `", and so in: ` + four},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, _, err := limited(test.namespaces...).Releases(t.Context())
			denied, is := errors.AsType[*release.ListDeniedError](err)
			if !is || len(found) > 0 {
				t.Fatalf("found %v, %v", found, err)
			}
			if !slices.Equal(denied.Namespaces, test.namespaces) || !slices.Equal(denied.Others, test.others) || !strings.HasSuffix(err.Error(), test.says) {
				t.Errorf("namespaces %v, others %v: %v", denied.Namespaces, denied.Others, err)
			}
		})
	}
}
