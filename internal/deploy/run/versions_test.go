package run_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/deploy"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

// A deployment can get values from an object that has not been read. It is pinned to the version
// on the cluster, and the apply returns that version.
func TestApplyPinsWhatValuesComeFrom(t *testing.T) {
	t.Parallel()
	words := target.Reference{Kind: target.Secret, Namespace: "ns", Name: "words"}
	fresh, pinned := deployment("c1", "web", "v1-base"), deployment("c1", "db", "v1-known")
	fresh.Unpinned = true
	fresh.Options.Helm = &fleetyaml.Helm{ValuesFrom: []fleetyaml.ValuesFrom{{SecretKeyRef: &fleetyaml.KeyRef{Name: "words"}}}}
	pinned.Options.Helm = fresh.Options.Helm
	clusters := newFleet("c1", "c2")
	asked := request(nil)
	asked.Write = []target.Deployment{fresh, pinned}
	outcome := clusters.runner().Apply(t.Context(), asked)
	expectNoFailures(t, outcome.Failures)
	want := map[string]deploy.Versions{"c1": {words: "1"}}
	if diff := cmp.Diff(want, outcome.Versions); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if got, want := outcome.Records[key("c1", "web")].Digest, fresh.Pinned(want["c1"]).Digest; got != want || got == "v1-base" {
		t.Errorf("digest %s, want %s", got, want)
	}
	if got := outcome.Records[key("c1", "db")].Digest; got != "v1-known" {
		t.Errorf("the pinned digest is %s", got)
	}
}

func TestVersionsOfClustersThatRespond(t *testing.T) {
	t.Parallel()
	words := target.Reference{Kind: target.Secret, Namespace: "ns", Name: "words"}
	clusters := newFleet("c1", "c2")
	failAt(unreachable("c2"), "version "+words.String())(clusters["c2"])
	got := clusters.runner().Versions(t.Context(), map[string][]target.Reference{"c1": {words}, "c2": {words}, "nowhere": {words}})
	if diff := cmp.Diff(map[string]deploy.Versions{"c1": {words: "1"}}, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}
