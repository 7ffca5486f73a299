package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/bundle"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/release"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// A cluster with two names has the releases of both names. A release in state takes precedence
// over a lost one. Releases of other clusters do not count.
func TestKnownOfCluster(t *testing.T) {
	t.Parallel()
	record := func(instance string, left ...string) deploy.Record {
		made := deploy.Record{Release: "web", Namespace: "apps", Known: release.Known{Instance: instance}}
		for _, name := range left {
			made.Leftovers = append(made.Leftovers, release.Known{Release: name, Namespace: "apps", Instance: instance})
		}
		return made
	}
	write := func(cluster, name, namespace string) target.Deployment {
		return target.Deployment{Cluster: cluster, Bundle: &bundle.Bundle{Name: name}, Release: name, Namespace: namespace}
	}
	request := Request{
		Prior: map[deploy.Key]deploy.Record{
			{Cluster: "a", Bundle: "web"}:    record("of a", "former"),
			{Cluster: "b", Bundle: "other"}:  {Release: "other", Namespace: "apps", Known: release.Known{Instance: "of b"}},
			{Cluster: "c", Bundle: "before"}: {Leftovers: []release.Known{{Release: "web", Namespace: "apps", Instance: "left of c"}}},
			{Cluster: "c", Bundle: "web"}:    record("of c"),
		},
		Missing: map[deploy.Key]release.Known{
			{Cluster: "a", Bundle: "gone"}:  {Release: "gone", Namespace: "apps", Instance: "lost of a"},
			{Cluster: "a", Bundle: "other"}: {Release: "other", Namespace: "apps", Instance: "lost of a"},
		},
		Write: []target.Deployment{write("a", "web", "apps"), write("b", "api", "apps"), write("a", "far", "elsewhere"), write("c", "third", "apps")},
		UIDs:  map[string]string{"a": "1", "b": "1", "c": "2"},
	}
	tests := map[string]struct{ cluster, uid, namespace, release, want string }{
		"in the state":                {cluster: "a", uid: "1", namespace: "apps", release: "web", want: "of a"},
		"left by its bundle":          {cluster: "a", uid: "1", namespace: "apps", release: "former", want: "of a"},
		"by another name":             {cluster: "b", uid: "1", namespace: "apps", release: "web", want: "of a"},
		"lost":                        {cluster: "b", uid: "1", namespace: "apps", release: "gone", want: "lost of a"},
		"in the state and lost":       {cluster: "a", uid: "1", namespace: "apps", release: "other", want: "of b"},
		"of another cluster":          {cluster: "c", uid: "2", namespace: "apps", release: "gone"},
		"left by one, had by another": {cluster: "c", uid: "2", namespace: "apps", release: "web", want: "of c"},
		"in another namespace":        {cluster: "a", uid: "1", namespace: "elsewhere", release: "web"},
		"by name alone":               {cluster: "a", namespace: "apps", release: "web", want: "of a"},
		"by another name without uid": {cluster: "b", namespace: "apps", release: "web"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := knownOfCluster{request: &request, index: request.index(), cluster: test.cluster, uid: test.uid}
			got := ""
			if found := k.find(test.namespace, test.release); found != nil {
				got = found.Instance
			}
			if got != test.want {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
	k := knownOfCluster{request: &request, index: request.index(), cluster: "b", uid: "1"}
	if diff := cmp.Diff([]string{"web"}, k.deployedTo("apps", deploy.Key{Cluster: "b", Bundle: "api"})); diff != "" {
		t.Errorf("deployed beside it (-want +got):\n%s", diff)
	}
}
