package target_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentless-fleet/terraform-provider-fleet/internal/fleetyaml"
	"github.com/agentless-fleet/terraform-provider-fleet/internal/target"
)

func valuesFrom() target.Deployment {
	return target.Deployment{Namespace: "web", Digest: "v1-0", Options: fleetyaml.Options{Helm: &fleetyaml.Helm{ValuesFrom: []fleetyaml.ValuesFrom{
		{ConfigMapKeyRef: &fleetyaml.KeyRef{Name: "defaults", Namespace: "platform"}, SecretKeyRef: &fleetyaml.KeyRef{Name: "keys", Key: "app"}},
		{SecretKeyRef: &fleetyaml.KeyRef{Name: "keys", Key: "db"}},
	}}}}
}

func TestValuesFrom(t *testing.T) {
	t.Parallel()
	defaults := target.Reference{Kind: target.ConfigMap, Namespace: "platform", Name: "defaults"}
	keys := target.Reference{Kind: target.Secret, Namespace: "web", Name: "keys"}
	want := []target.Source{{Reference: defaults, Key: "values.yaml"}, {Reference: keys, Key: "app"}, {Reference: keys, Key: "db"}}
	if diff := cmp.Diff(want, valuesFrom().ValuesFrom()); diff != "" {
		t.Errorf("ValuesFrom (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]target.Reference{defaults, keys}, valuesFrom().References()); diff != "" {
		t.Errorf("References (-want +got):\n%s", diff)
	}
}

func TestPinned(t *testing.T) {
	t.Parallel()
	if plain := (target.Deployment{Digest: "v1-0"}).Pinned(nil); plain.Unpinned || plain.Digest != "v1-0" {
		t.Errorf("without values from the cluster: %s, %t", plain.Digest, plain.Unpinned)
	}
	references := valuesFrom().References()
	unpinned := valuesFrom().Pinned(map[target.Reference]string{references[0]: "a"})
	if !unpinned.Unpinned {
		t.Error("pinned although one version is not known")
	}
	later := unpinned.Pinned(map[target.Reference]string{references[0]: "a", references[1]: "b"})
	digest := func(first, second string) string {
		pinned := valuesFrom().Pinned(map[target.Reference]string{references[0]: first, references[1]: second})
		if pinned.Unpinned {
			t.Fatal("not pinned")
		}
		return pinned.Digest
	}
	// States contain digests, so their computation must never change.
	if got := digest("a", "b"); got != "v1-73967f436f9a6813b7a533532dbb0240" {
		t.Errorf("digest %s", got)
	}
	if digest("a", "b") != later.Digest || digest("a", "b") == digest("a", "c") || digest("a", "b") == digest("b", "a") {
		t.Error("the digest does not follow the versions")
	}
}
